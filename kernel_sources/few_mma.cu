// Transposed convolution to few output channels on the tensor cores. Every input is read once, straight into their
// fragments, and meets all taps there: rows of the product are the positions of a line, columns its taps.
//
// A block walks along the image's outer axis. A line's products with the taps along that axis are added to as many
// lines of sums, which stay in registers and move on by the stride after each line. A line that is complete goes to
// shared memory, where shares of neighbouring positions meet in the outputs.
#include "few_mma_load.cuh"
#include "few_mma_store.cuh"

namespace tconv::few_mma {

/// A step along the channels: all fragments against a tap's tile of columns.
__device__ __forceinline__ void multiply_step(float (&sums)[m_fragments][4], const Fragments& inputs, int step,
                                              const u32 (&columns_of)[parts][2]) {
#pragma unroll
    for (int j = 0; j < m_fragments; ++j) {
        if constexpr (split) {
            mma_16x8<Operand>(sums[j], inputs.words[parts - 1][j][step], columns_of[0]);
            mma_16x8<Operand>(sums[j], inputs.words[0][j][step], columns_of[parts - 1]);
        }
        mma_16x8<Operand>(sums[j], inputs.words[0][j][step], columns_of[0]);
    }
}

/// A chunk of channels of a line against all its taps. Channels are the outer loop: what a lane has of them is brought
/// into the order of an operand's registers once for all taps.
__device__ __forceinline__ void multiply(Sums& sums, const Fragments& inputs, const u32* weights, int chunk) {
    const u32* lane = weights + weight_place(0, 0, chunk * chunk_words, 0, static_cast<int>(threadIdx.x) % 32);
#pragma unroll
    for (int word = 0; word < chunk_words; word += weight_vector) {
#pragma unroll
        for (int tap = 0; tap < Walk::kernel; ++tap) {
#pragma unroll
            for (int i = 0; i < column_tiles; ++i) {
                Floats<weight_vector> vector[parts];
#pragma unroll
                for (int part = 0; part < parts; ++part)
                    vector[part] =
                        load<weight_vector>(reinterpret_cast<const float*>(lane + weight_place(tap, i, word, part, 0)));
#pragma unroll
                for (int step = 0; step < weight_vector / 2; ++step) {
                    u32 columns_of[parts][2];
#pragma unroll
                    for (int part = 0; part < parts; ++part) {
#pragma unroll
                        for (int half = 0; half < 2; ++half)
                            columns_of[part][half] = __float_as_uint(vector[part].v[2 * step + half]);
                    }
                    multiply_step(sums[tap * static_cast<int>(Walk::dilation)][i], inputs, word / 2 + step, columns_of);
                }
            }
        }
    }
}

/// Multiplies line `line`, whose first chunk is in `inputs`, and loads the next ones up to line `end`: a chunk ahead of
/// the products, or after them, which needs half of the registers, for other warps to multiply meanwhile.
__device__ __forceinline__ void add_line(Sums& sums, Inputs& inputs, Source& source, const u32* weights, int line,
                                         int end) {
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; ++chunk) {
        const Fragments fragments(inputs);
        const bool last = chunk + 1 == chunks;
        if (last) source.next_line();
        const auto load_next = [&] { inputs.load(source, last ? 0 : chunk + 1, !last || line + 1 < end); };
        if constexpr (ahead) load_next();
        multiply(sums, fragments, weights, chunk);
        if constexpr (!ahead) load_next();
    }
}

}  // namespace tconv::few_mma

extern "C" __global__ void __launch_bounds__(tconv::few_mma::threads, tconv::config::min_blocks)
    tconv_few_mma(const tconv::Element* __restrict__ input, const tconv::Element* __restrict__ weight,
                  const tconv::Element* __restrict__ bias, tconv::Element* __restrict__ output, int batch) {
    using namespace tconv;
    using namespace tconv::few_mma;
    const Tile tile = this_tile();
    const int first_line = tile.step > warm_lines ? tile.step - warm_lines : 0;
    const int end_step = tile.step + walk_tile < all_steps ? tile.step + walk_tile : all_steps;
    const int end_line = end_step < Walk::input ? end_step : static_cast<int>(Walk::input);
    u32* weights = dynamic_shared<u32>();
    auto* shares = reinterpret_cast<float*>(weights + weight_words);

    Source source(input, tile, first_line, batch);
    Inputs inputs;
    inputs.load(source, 0, first_line < end_line);
    stage_weights(weights, weight);
    const Bias biases(bias);
    Sums sums{};
    __syncthreads();
#pragma unroll 1
    for (int step = first_line; step < end_step; ++step) {
        if (step < end_line) add_line(sums, inputs, source, weights, step, end_line);
        if (step >= tile.step) {
            float* buffer = shares + step % buffers * stage_floats;
            put_shares(sums, buffer);
            __syncthreads();
            store_lines(buffer, tile, biases, output, step, batch);
            if constexpr (buffers == 1) __syncthreads();
        }
        roll(sums);
    }
}
