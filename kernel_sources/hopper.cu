// Transposed convolution on the tensor cores of compute capability 9.0a (wgmma), fed by TMA: for layers with many
// channels, where the products are the limit.
//
// One warpgroup of a block only starts copies: boxes of positions by a tensor map of the input (channels last, 128
// bytes of channels a position, zeros outside), weights as packed images; or tensors of 16 bits by tensor maps as they
// are. The others multiply what has arrived and store tiles of the output. A block takes tile after tile, so the copies
// of the next tile run while the last one is stored.
#include "hopper_pack.cuh"
#include "hopper_shape.cuh"
#include "hopper_store.cuh"
#include "tma.cuh"

namespace tconv::hopper {

/// Registers of a thread: 64K are shared by the blocks of a multiprocessor, and what the copying warpgroup gives the
/// others take.
constexpr int k_all_registers = 65536;
constexpr int registers_at_start = k_all_registers / (threads * config::blocks) / 8 * 8;
constexpr int k_producer_registers = consumers >= 3 ? 32 : 40;
constexpr int registers_left =
    ((registers_at_start > 255 ? 248 : registers_at_start) * (consumers + 1) - k_producer_registers) / consumers / 8 *
    8;
constexpr int consumer_registers = registers_left > 240 ? 240 : registers_left;

/// Barriers of stages of shared memory that are filled and used in turn.
struct Ring {
    Barrier* full;   // the stage's operands have arrived
    Barrier* empty;  // every consumer is done with them
};

/// A place in a ring, and the parity of its barriers' current phase.
template <int Count>
struct Turn {
    int stage = 0;
    u32 parity = 0;
    __device__ __forceinline__ void advance() {
        if (++stage < Count) return;
        stage = 0;
        parity ^= 1;
    }
};

struct Pipeline {
    Ring input;  // with barriers of its own where boxes are reused
    Ring step;   // of the weights, unless they are resident, and of boxes that are not reused
    unsigned char* inputs;
    unsigned char* weights;
    Barrier* resident;  // weights have arrived, for good
    unsigned char* staging;
};

/// Where a warpgroup stands.
struct Turns {
    Turn<input_stages> input;
    Turn<step_stages> step;
};

/// Where weights come from.
template <bool Raw>
struct WeightsOf {
    using type = const unsigned char*;
};
template <>
struct WeightsOf<true> {
    using type = TensorMap;
};
using Weights = WeightsOf<raw_weights>::type;

__device__ __forceinline__ void load_input(const Tile& tile, int block, int j_d, int j_h, int j_w, unsigned char* stage,
                                           const TensorMap& input, Barrier& full) {
    const int channel = (tile.group * channel_blocks + block) * map_row;
    if constexpr (flat) {
#pragma unroll
        for (int i = 0; i < box_n; ++i) {
            const int run = tile.batch + i;
            if constexpr (raw_input) {
                tma_load_box(stage + i * run_bytes, input, full,
                             {run % entry_runs * run_positions, block * block_channels, tile.group, run / entry_runs});
            } else {
                tma_load_box(stage + i * run_bytes, input, full, {channel, run * run_positions, 0, 0, 0});
            }
        }
    } else {
        const int d = tile.q_d - tile.taps_d.offset - j_d * AxisD::offset_step;
        const int h = tile.q_h - tile.taps_h.offset - j_h * AxisH::offset_step;
        const int w = tile.q_w - tile.taps_w.offset - j_w * AxisW::offset_step;
        tma_load_box(stage, input, full, {channel, w, h, d, tile.batch});
    }
}

/// Of step number `step` of the tile, that of block `block` of channels and tap `tap`.
__device__ __forceinline__ void load_weights(const Tile& tile, int block, int tap, int, unsigned char* stage,
                                             const TensorMap& weights, Barrier& full) {
#pragma unroll
    for (int i = 0; i < weight_boxes; ++i) {
        const WeightBox box = weight_box_at(tile.column + i * k_operand_values, tap);
        tma_load_box(stage + i * weight_box, weights, full, {box.column, box.unit, block * block_channels, tile.group});
    }
}
__device__ __forceinline__ void load_weights(const Tile& tile, int, int, int step, unsigned char* stage,
                                             const unsigned char* packed, Barrier& full) {
    tma_load_bytes(stage,
                   packed + packed_weights(tile.phase_class, tile.group, tile.column / tile_n) +
                       static_cast<i64>(step) * weight_stage,
                   weight_stage, full);
}

__device__ __forceinline__ void prefetch_weights(const TensorMap& weights) {
    tma_prefetch_map(weights);
}
__device__ __forceinline__ void prefetch_weights(const unsigned char*) {}

__device__ __forceinline__ void load_tile(const Tile& tile, Turns& turns, const Pipeline& pipeline,
                                          const TensorMap& input, const Weights& weights) {
    constexpr int input_bytes = input_rows * k_operand_row;
    int step = tile.first_block * tile.taps();
    for (int block = tile.first_block; block < tile.end_block; ++block) {
        if constexpr (reuse) {
            if (tile.taps() == 0) return;
            Barrier& full = pipeline.input.full[turns.input.stage];
            barrier_wait(pipeline.input.empty[turns.input.stage], turns.input.parity ^ 1);
            barrier_arrive_and_expect(full, input_bytes);
            load_input(tile, block, AxisD::max_taps - 1, AxisH::max_taps - 1, AxisW::max_taps - 1,
                       pipeline.inputs + turns.input.stage * input_stage, input, full);
            turns.input.advance();
        }
        if constexpr (!steps_wait) continue;
        for (int j_d = 0; j_d < tile.taps_d.count; ++j_d) {
            for (int j_h = 0; j_h < tile.taps_h.count; ++j_h) {
                for (int j_w = 0; j_w < tile.taps_w.count; ++j_w) {
                    const int stage = turns.step.stage;
                    Barrier& full = pipeline.step.full[stage];
                    barrier_wait(pipeline.step.empty[stage], turns.step.parity ^ 1);
                    barrier_arrive_and_expect(full, (resident ? 0 : weight_stage) + (reuse ? 0 : input_bytes));
                    if constexpr (!reuse)
                        load_input(tile, block, j_d, j_h, j_w, pipeline.inputs + stage * input_stage, input, full);
                    if constexpr (!resident)
                        load_weights(tile, block, tap_of(tile, j_d, j_h, j_w), step++,
                                     pipeline.weights + stage * weight_stage, weights, full);
                    turns.step.advance();
                }
            }
        }
    }
}

/// All weights of a block's tiles, which have the same columns.
__device__ __forceinline__ void load_resident(const Tile& tile, const Pipeline& pipeline, const Weights& weights) {
    for (int step = 0; step < weight_stages; ++step) {
        Barrier& full = pipeline.resident[step / barrier_steps];
        barrier_arrive_and_expect(full, weight_stage);
        int rest = step;
        const int j_w = split_off(rest, tile.taps_w.count);
        const int j_h = split_off(rest, tile.taps_h.count);
        const int j_d = split_off(rest, tile.taps_d.count);
        load_weights(tile, rest, tap_of(tile, j_d, j_h, j_w), step, pipeline.weights + step * weight_stage, weights,
                     full);
    }
}

/// The products of one step. Split operands: high * high, high * low, low * high.
__device__ __forceinline__ void multiply_step(float (&sums)[rows][tile_n / 2], const unsigned char* input,
                                              const int (&first_rows)[rows], const unsigned char* weights, bool add) {
    constexpr int pieces = k_operand_row / k_operand_step;
    constexpr int half_row = k_operand_row / 2;
    constexpr int products = split ? 3 * pieces / 2 : pieces;
    wgmma_fence();
#pragma unroll
    for (int row = 0; row < rows; ++row) {
        const unsigned char* left = input + first_rows[row] * k_operand_row;
#pragma unroll
        for (int k = 0; k < products; ++k) {
            const int part = split ? k / (pieces / 2) : 0;
            const int from = (split ? k % (pieces / 2) : k) * k_operand_step;
            wgmma_start<Operand, tile_n, input_major, weight_major>(
                sums[row],
                raw_input ? wgmma_operand_mn(left + k * k_mn_major_step, run_bytes)
                          : wgmma_operand(left, from + (part == 2 ? half_row : 0), input_eights),
                raw_weights ? wgmma_operand_mn(weights + k * k_mn_major_step, weight_box)
                            : wgmma_operand(weights, from + (part == 1 ? half_row : 0), weight_eights),
                k > 0 || add);
        }
    }
    wgmma_commit();
}

__device__ __forceinline__ void release(const Ring& ring, int stage) {
    if (threadIdx.x % 32 == 0) barrier_arrive(ring.empty[stage]);
}

__device__ __forceinline__ void multiply_tile(float (&sums)[rows][tile_n / 2], const Tile& tile, Turns& turns,
                                              const Pipeline& pipeline, const int (&first_rows)[rows]) {
    if (tile.taps() == 0) {
#pragma unroll
        for (int row = 0; row < rows; ++row) {
#pragma unroll
            for (int i = 0; i < tile_n / 2; ++i)
                sums[row][i] = 0;
        }
        return;
    }
    // What the products in flight still read.
    int used_stage = -1;
    int used_input = -1;
    int step = 0;
#pragma unroll 1
    for (int block = tile.first_block; block < tile.end_block; ++block) {
        if constexpr (reuse) barrier_wait_together(pipeline.input.full[turns.input.stage], turns.input.parity);
#pragma unroll 1
        for (int j_d = 0; j_d < tile.taps_d.count; ++j_d) {
#pragma unroll 1
            for (int j_h = 0; j_h < tile.taps_h.count; ++j_h) {
#pragma unroll 1
                for (int j_w = 0; j_w < tile.taps_w.count; ++j_w) {
                    const int stage = turns.step.stage;
                    const unsigned char* input = pipeline.inputs + (reuse ? turns.input.stage : stage) * input_stage;
                    if constexpr (reuse) {
                        const int d = (AxisD::max_taps - 1 - j_d) * AxisD::offset_step;
                        const int h = (AxisH::max_taps - 1 - j_h) * AxisH::offset_step;
                        const int w = (AxisW::max_taps - 1 - j_w) * AxisW::offset_step;
                        input += ((d * pitch_h + h) * pitch_w + w) * k_operand_row;
                    }
                    if constexpr (steps_wait) barrier_wait_together(pipeline.step.full[stage], turns.step.parity);
                    if constexpr (resident) barrier_wait_together(pipeline.resident[step / barrier_steps], 0);
                    multiply_step(sums, input, first_rows,
                                  pipeline.weights + (resident ? step++ : stage) * weight_stage, used_stage >= 0);
                    // The products of the step before are done once only this one's are pending.
                    wgmma_wait<1>();
                    if (steps_wait && used_stage >= 0) release(pipeline.step, used_stage);
                    if (reuse && used_input >= 0) {
                        release(pipeline.input, used_input);
                        used_input = -1;
                    }
                    used_stage = stage;
                    if constexpr (steps_wait) turns.step.advance();
                }
            }
        }
        if constexpr (reuse) {
            used_input = turns.input.stage;
            turns.input.advance();
        }
    }
    wgmma_wait<0>();
    if constexpr (steps_wait) release(pipeline.step, used_stage);
    if constexpr (reuse) release(pipeline.input, used_input);
}

/// Where a thread's sums of a split tile lie, behind the packed input: those of a warp in one line.
__device__ __forceinline__ float* split_sums(unsigned char* workspace, int batch, int number, int row) {
    const i64 product = (static_cast<i64>(number) * consumers + threadIdx.x / k_warpgroup) * rows + row;
    const i64 input = packed_input ? batch * input_volume * packed_position : 0;
    return reinterpret_cast<float*>(workspace + input) + product * (k_product_rows * tile_n) +
           threadIdx.x % k_warpgroup * 4;
}

__device__ __forceinline__ void store_split(const float (&sums)[tile_n / 2], float* target) {
#pragma unroll
    for (int i = 0; i < tile_n / 2; i += 4)
        store<4>(target + i * k_warpgroup, Floats<4>{{sums[i], sums[i + 1], sums[i + 2], sums[i + 3]}});
}

__device__ __forceinline__ void add_split(float (&sums)[tile_n / 2], const float* source) {
#pragma unroll
    for (int i = 0; i < tile_n / 2; i += 4) {
        const Floats<4> part = load<4>(source + i * k_warpgroup);
#pragma unroll
        for (int j = 0; j < 4; ++j)
            sums[i + j] += part.v[j];
    }
}

__device__ __forceinline__ Pipeline make_pipeline() {
    unsigned char* shared = dynamic_shared<unsigned char>();
    // The swizzle follows the address.
    const u64 past = reinterpret_cast<u64>(shared) % 1024;
    unsigned char* inputs = shared + (past == 0 ? 0 : 1024 - past);
    unsigned char* weights = inputs + input_stages * input_stage;
    unsigned char* staging = weights + weight_stages * weight_stage;
    Barrier* barriers = reinterpret_cast<Barrier*>(staging + consumers * staging_bytes);
    Barrier* input_barriers = barriers + 2 * step_stages;
    return {{input_barriers, input_barriers + input_stages},
            {barriers, barriers + step_stages},
            inputs,
            weights,
            input_barriers + 2 * input_stages,
            staging};
}

__device__ __forceinline__ void init_barriers(const Ring& ring, int stages) {
    for (int stage = 0; stage < stages; ++stage) {
        barrier_init(ring.full[stage], 1);
        barrier_init(ring.empty[stage], consumers * (k_warpgroup / 32));
    }
}

__device__ __forceinline__ void init_resident(Barrier* barriers) {
    for (int first = 0; first < weight_stages; first += barrier_steps)
        barrier_init(barriers[first / barrier_steps], min(barrier_steps, weight_stages - first));
}

}  // namespace tconv::hopper

extern "C" __global__ void __launch_bounds__(tconv::hopper::k_pack_threads)
    tconv_hopper_pack_weights(const tconv::Element* __restrict__ weight, unsigned char* __restrict__ packed) {
    tconv::let_next_launch_start();
    tconv::hopper::pack_weights(weight, packed);
}

extern "C" __global__ void __launch_bounds__(tconv::hopper::k_pack_threads)
    tconv_hopper_pack_input(const tconv::Element* __restrict__ input, unsigned char* __restrict__ packed) {
    tconv::let_next_launch_start();
    tconv::hopper::pack_input(input, packed);
    tconv::wait_for_launch_before();  // for whoever waits for this one, and reads the weights too
}

extern "C" __global__ void __launch_bounds__(tconv::hopper::threads, tconv::config::blocks)
    tconv_hopper(const __grid_constant__ tconv::TensorMap input, const __grid_constant__ tconv::hopper::Weights weights,
                 const tconv::Element* __restrict__ bias, tconv::Element* __restrict__ output,
                 unsigned char* __restrict__ workspace, int batch) {
    using namespace tconv;
    using namespace tconv::hopper;
    const Pipeline pipeline = make_pipeline();
    if (threadIdx.x == 0) {
        tma_prefetch_map(input);
        prefetch_weights(weights);
        init_barriers(pipeline.step, step_stages);
        if constexpr (reuse) init_barriers(pipeline.input, input_stages);
        if constexpr (resident) init_resident(pipeline.resident);
        barrier_init_fence();
    }
    __syncthreads();
    let_next_launch_start();
    wait_for_launch_before();

    const int group = threadIdx.x / k_warpgroup;
    Turns turns;
    Tile tile{};
    if (group == consumers) {
        give_registers<k_producer_registers>();
        if (threadIdx.x == consumers * k_warpgroup) {
            if (resident && find_tile(tile, blockIdx.x, batch)) load_resident(tile, pipeline, weights);
            for (int number = blockIdx.x; find_tile(tile, number, batch); number += gridDim.x)
                load_tile(tile, turns, pipeline, input, weights);
        }
        return;
    }
    take_registers<consumer_registers>();
    unsigned char* staging = pipeline.staging + group * staging_bytes;
    int first_rows[rows];
#pragma unroll
    for (int row = 0; row < rows; ++row)
        first_rows[row] = first_row(group * rows + row);
    for (int number = blockIdx.x; find_tile(tile, number, batch); number += gridDim.x) {
        float sums[rows][tile_n / 2];
        multiply_tile(sums, tile, turns, pipeline, first_rows);
#pragma unroll
        for (int row = 0; row < rows; ++row) {
            if constexpr (splits == 1) {
                Store::run(sums[row], tile, (group * rows + row) * k_product_rows, staging, bias, output, batch);
            } else {
                store_split(sums[row], split_sums(workspace, batch, number, row));
            }
        }
    }
}

/// Adds the sums of split tiles up and stores them.
extern "C" __global__ void __launch_bounds__(tconv::k_warpgroup* tconv::hopper::consumers)
    tconv_hopper_add(unsigned char* __restrict__ workspace, const tconv::Element* __restrict__ bias,
                     tconv::Element* __restrict__ output, int batch) {
    using namespace tconv;
    using namespace tconv::hopper;
    wait_for_launch_before();
    const int group = threadIdx.x / k_warpgroup;
    unsigned char* staging = dynamic_shared<unsigned char>() + group * staging_bytes;
    Tile tile{};
    for (int number = blockIdx.x * splits; find_tile(tile, number, batch); number += gridDim.x * splits) {
#pragma unroll
        for (int row = 0; row < rows; ++row) {
            float sums[tile_n / 2] = {};
#pragma unroll 1
            for (int split = 0; split < splits; ++split)
                add_split(sums, split_sums(workspace, batch, number + split, row));
            Store::run(sums, tile, (group * rows + row) * k_product_rows, staging, bias, output, batch);
        }
    }
}
