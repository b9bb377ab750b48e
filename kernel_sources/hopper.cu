// Transposed convolution on the tensor cores of compute capability 9.0a (wgmma), fed by TMA: for layers with many
// channels, where the products are the limit.
//
// One warpgroup of a block only starts copies: boxes of positions by a tensor map of the input (channels last, 128
// bytes of channels a position, zeros outside), weights as packed images; or tensors of 16 bits by tensor maps as they
// are. (Its other warps may pack the input, or load it.) The others multiply what has arrived and store tiles of the
// output. A block takes tile after tile, so the copies of the next tile run while the last one is stored. Two blocks
// may form a cluster, whose producers load what both need once for both.
#include "hopper_block_pack.cuh"
#include "hopper_fragments.cuh"
#include "hopper_pack.cuh"
#include "hopper_pipeline.cuh"
#include "hopper_shares.cuh"
#include "hopper_split_sums.cuh"
#include "hopper_stagger.cuh"
#include "hopper_store.cuh"

namespace tconv::hopper {

/// Parts that one product can take. Of 32 columns two neighbours, which halves the reads of the input; of more the
/// assembler would make products of several sizes wait for each other.
constexpr int most_in_run = part_n < 64 && (!AxisW::aligned || PartsH::count > 1) ? 2 : 1;

/// Sums that begin as zeros are live from there on alone. A tile's first products would begin without, but to the
/// assembler they read what is left from the tile before, which it keeps over store and search: in memory, where that
/// is more than there are registers.
constexpr bool zeroed = rows * product_n >= 384 || walk;

__device__ __forceinline__ void set_zero(float (&sums)[rows][product_n / 2]) {
#pragma unroll
    for (int row = 0; row < rows; ++row) {
#pragma unroll
        for (int i = 0; i < product_n / 2; ++i)
            sums[row][i] = 0;
    }
}

/// Parts [Begin, End) of an axis.
template <int Begin, int End>
struct Range {
    static constexpr PartRange value{Begin, End};
};

/// Parts that one product takes: neighbours that begin with the same step.
struct Run {
    int first, count;
};
__device__ constexpr int begin_of(int part) {
    return PartsW::steps_of(part_at(part).w).begin;
}
/// The first run from part `from` on; of no parts where there are no more.
__device__ constexpr Run run_from(int from, const StepParts& step) {
    while (from < parts && !step.has(from))
        ++from;
    Run run{from, 0};
    while (run.count < most_in_run && from < parts && step.has(from) && begin_of(from) == begin_of(run.first)) {
        ++run.count;
        ++from;
    }
    return run;
}

/// Starts a product whose operand A lies in shared memory, or in registers.
template <int N>
__device__ __forceinline__ void start(float (&sums)[N / 2], u64 left, u64 right, bool add) {
    wgmma_start<Operand, N, input_major, weight_major>(sums, left, right, add);
}
template <int N>
__device__ __forceinline__ void start(float (&sums)[N / 2], const u32 (&left)[4], u64 right, bool add) {
    wgmma_start<Operand, N>(sums, left, right, add);
}

/// Piece `k` of a step's weights (SharedRows::piece).
template <int Pieces>
__device__ __forceinline__ u64 right_piece(const unsigned char* right, int k) {
    if constexpr (raw_weights) return wgmma_operand_mn(right + k * k_mn_major_step, weight_box);
    return wgmma_operand(right, (k / Pieces == 1 ? k_operand_row / 2 : 0) + k % Pieces * k_operand_step, weight_eights);
}

/// The products of piece `k` of a row of 64 in step number `step` for the ranges' parts from part From on, whose
/// weights come after those of `Before` others.
template <int Pieces, class D, class H, class W, int From, int Before, class Piece>
__device__ __forceinline__ void multiply_piece(float (&sums)[product_n / 2], const Piece& left,
                                               const unsigned char* weights, int k, int step) {
    constexpr Run run = run_from(From, {D::value, H::value, W::value});
    if constexpr (run.count > 0) {
        constexpr int n = run.count * part_n;
        const bool add = k > 0 || zeroed || step > begin_of(run.first);
        start<n>(reinterpret_cast<float(&)[n / 2]>(sums[run.first * (part_n / 2)]), left,
                 right_piece<Pieces>(weights + Before * part_bytes, k), add);
        multiply_piece<Pieces, D, H, W, run.first + run.count, Before + run.count>(sums, left, weights, k, step);
    }
}

template <int Axis>
struct PartsOf {
    using type = PartsW;
};
template <>
struct PartsOf<0> {
    using type = PartsD;
};
template <>
struct PartsOf<1> {
    using type = PartsH;
};

/// The products of one step, the tile's number `step` and number `j` along each axis; `Ranges` are its parts along the
/// first axes. All parts have taps but, of some, in the first or the last step along an axis.
template <int Pieces, class... Ranges>
__device__ __forceinline__ void multiply_pieces(float (&sums)[rows][product_n / 2], const Left& left,
                                                const unsigned char* weights, int step, const int (&j)[3]) {
    constexpr int axis = sizeof...(Ranges);
    if constexpr (axis == 3) {
        constexpr int products = split ? 3 * Pieces : Pieces;
        wgmma_fence();
#pragma unroll
        for (int i = 0; i < rows * products; ++i) {
            const int row = i / products;
            const int k = i % products;
            multiply_piece<Pieces, Ranges..., 0, 0>(sums[row], left.template piece<Pieces>(row, k), weights, k, step);
        }
        wgmma_commit();
    } else {
        using Own = typename PartsOf<axis>::type;
        constexpr PartRange first = Own::at(0);
        constexpr PartRange last = Own::at(Own::steps - 1);
        constexpr bool begins = first.count() < Own::count;
        constexpr bool ends = last.count() < Own::count && Own::steps > 1;
        if (begins && j[axis] == 0) {
            multiply_pieces<Pieces, Ranges..., Range<first.begin, first.end>>(sums, left, weights, step, j);
        } else if (ends && j[axis] + 1 == Own::steps) {
            multiply_pieces<Pieces, Ranges..., Range<last.begin, last.end>>(sums, left, weights, step, j);
        } else if constexpr (Own::steps > begins + ends) {
            multiply_pieces<Pieces, Ranges..., Range<0, Own::count>>(sums, left, weights, step, j);
        }
    }
}

/// Likewise, of block `block` of channels.
__device__ __forceinline__ void multiply_step(float (&sums)[rows][product_n / 2], const Left& left,
                                              const unsigned char* weights, int block, int step, const int (&j)[3]) {
    if constexpr (channel_blocks == 1 || last_pieces == block_pieces) {
        multiply_pieces<last_pieces>(sums, left, weights, step, j);
    } else if (block + 1 == channel_blocks) {
        multiply_pieces<last_pieces>(sums, left, weights, step, j);
    } else {
        multiply_pieces<block_pieces>(sums, left, weights, step, j);
    }
}

/// What products in flight still read.
struct InUse {
    int stage = -1;
    int input = -1;
};
/// Behind a step's products, which took stage `stage`: gives back what those of the step before have read, which are
/// done once only these are pending. Products of registers are themselves waited for: what follows, and the next step's
/// address, may else get these registers (CUDA 13.0), as they are not read again.
__device__ __forceinline__ void end_step(InUse& in_use, int stage, const Pipeline& pipeline) {
    if constexpr (register_input) {
        wgmma_wait<0>();
        if constexpr (reads_steps) {
            fence_async_proxy();
            __syncwarp();
        }
        if constexpr (steps_wait) release<shared_step_ring>(pipeline.step, stage);
        return;
    }
    wgmma_wait<1>();
    if (steps_wait && in_use.stage >= 0) release<shared_step_ring>(pipeline.step, in_use.stage);
    in_use.stage = stage;
    if (reuse && in_use.input >= 0) {
        release<shared_input_ring>(pipeline.input, in_use.input);
        in_use.input = -1;
    }
}

__device__ __forceinline__ void multiply_tile(float (&sums)[rows][product_n / 2], const Tile& tile, Turns& turns,
                                              const Pipeline& pipeline, const RowPlaces& places, int& ahead) {
    if (!walk && (zeroed || tile.taps() == 0)) set_zero(sums);
    if (tile.taps() == 0) return;
    InUse in_use;
    int step = 0;
    int from = 0;
#pragma unroll 1
    for (int block = tile.first_block; block < tile.end_block; ++block) {
#pragma unroll 1
        for (int j_d = 0; j_d < steps_d(tile.taps_d); ++j_d) {
            if (reuse && (plane_boxes || j_d == 0))
                barrier_wait_together(pipeline.input.full[turns.input.stage], turns.input.parity);
#pragma unroll 1
            for (int j_h = 0; j_h < tile.taps_h.count; ++j_h) {
#pragma unroll 1
                for (int j_w = 0; j_w < steps_w(tile.taps_w); ++j_w) {
                    const int stage = turns.step.stage;
                    const unsigned char* input = pipeline.inputs + (reuse ? turns.input.stage : stage) * input_stage;
                    if constexpr (reuse) {
                        const int d = plane_boxes ? 0 : (AxisD::max_taps - 1 - j_d) * AxisD::offset_step;
                        const int h = (AxisH::max_taps - 1 - j_h) * AxisH::offset_step;
                        const int w = tap_columns ? 0 : (AxisW::max_taps - 1 - j_w) * AxisW::offset_step;
                        input += register_input ? raw_offset(d, h, w) * problem::element_bytes
                                                : ((d * pitch_h + h) * pitch_w + w + tile.past_line) * k_operand_row;
                    }
                    if constexpr (reads_steps) barrier_wait_together(pipeline.step.full[stage], turns.step.parity);
                    Left left;
                    load_step(left, input, places, block);
                    if constexpr (steps_wait && !reads_steps)
                        barrier_wait_together(pipeline.step.full[stage], turns.step.parity);
                    if constexpr (resident) barrier_wait_together(pipeline.resident[step / barrier_steps], 0);
                    const unsigned char* weights = pipeline.weights + (resident ? from : stage_place(stage));
                    if constexpr (resident) from += weight_bytes_of({block, j_d, j_h, j_w});
                    multiply_step(sums, left, weights, block, step++, {j_d, j_h, j_w});
                    end_step(in_use, stage, pipeline);
                    if constexpr (stagger) count_ahead(ahead, pipeline);
                    if constexpr (steps_wait) turns.step.advance();
                }
            }
            if (reuse && (plane_boxes || j_d + 1 == steps_d(tile.taps_d))) {
                in_use.input = turns.input.stage;
                if constexpr (register_input) barrier_arrive_after_reads(pipeline.input.empty[in_use.input]);
                turns.input.advance();
            }
        }
    }
    if constexpr (register_input) return;
    wgmma_wait<0>();
    if constexpr (steps_wait) release<shared_step_ring>(pipeline.step, in_use.stage);
    if constexpr (reuse) release<shared_input_ring>(pipeline.input, in_use.input);
}

/// The sums of a tile's outputs to the output, or to where those of its splits meet.
template <int N>
__device__ __forceinline__ void store_tile(float (&sums)[rows][N], const Tile& tile, const Pipeline& pipeline,
                                           const Element* bias, Element* output, unsigned char* workspace, int batch,
                                           int number) {
    const int group = threadIdx.x / k_warpgroup;
    unsigned char* staging = pipeline.staging + group * staging_bytes;
    if constexpr (splits > 1) {
#pragma unroll
        for (int row = 0; row < rows; ++row)
            store_split(sums[row], split_sums(workspace, batch, number, group * rows + row));
    } else if constexpr (tap_columns) {
        store_shares(sums, tile, pipeline, bias, output, batch);
    } else {
#pragma unroll
        for (int row = 0; row < rows; ++row)
            Store::run(sums[row], tile, (group * rows + row) * k_product_rows, staging, bias, output, batch);
    }
}

/// Stores the first of the planes of the output that a walk has sums of, and moves on to the next.
template <int N>
__device__ __forceinline__ void leave_plane(float (&sums)[rows][N], Tile& reached, int plane, const Pipeline& pipeline,
                                            const Element* bias, Element* output, int batch) {
    if (plane >= plane_taps - 1) store_shares(sums, reached, pipeline, bias, output, batch);
    ++reached.q_d;
#pragma unroll
    for (int i = 0; i < rows * N; ++i)
        sums[i / N][i % N] = i % N + plane_n / 2 < N ? sums[i / N][i % N + plane_n / 2] : 0;
}

/// Walks along the depth, plane by plane of the input. The sums are of as many planes of the output as there are taps,
/// the first of which is then complete.
template <int N>
__device__ __forceinline__ void walk_planes(float (&sums)[rows][N], const Tile& tile, Turns& turns,
                                            const Pipeline& pipeline, const RowPlaces& places, int& ahead,
                                            const Element* bias, Element* output, int batch) {
    set_zero(sums);
    const Walked walked = walked_planes(tile);
    Tile reached = tile;
    reached.q_d += walked.begin - (plane_taps - 1);
#pragma unroll 1
    for (int plane = walked.begin; plane < walked.end; ++plane) {
        multiply_tile(sums, tile, turns, pipeline, places, ahead);
        leave_plane(sums, reached, plane, pipeline, bias, output, batch);
    }
#pragma unroll 1
    for (int plane = walked.end; plane < walked.all; ++plane)
        leave_plane(sums, reached, plane, pipeline, bias, output, batch);
}

__device__ __forceinline__ void multiply_tiles(const Pipeline& pipeline, const Element* bias, Element* output,
                                               unsigned char* workspace, int batch) {
    const int group = threadIdx.x / k_warpgroup;
    RowPlaces places;
    if constexpr (!register_input) place_operand_rows(places, group);
    Turns turns;
    Tile tile{};
    int ahead = 0;
    int number = blockIdx.x;
    for (int wave = 0; find_tile(tile, number, batch); number = tile_in_wave(++wave, pipeline.plan, pipeline.planned)) {
        if (stagger && wave == 0) {
            if (group > 0) barrier_wait_together(pipeline.ahead[group - 1], 0);
            ahead = steps_ahead(tile);
        }
        if constexpr (register_input) place_lane_rows(places, tile, group);
        float sums[rows][product_n / 2];
        if constexpr (walk) {
            walk_planes(sums, tile, turns, pipeline, places, ahead, bias, output, batch);
        } else {
            multiply_tile(sums, tile, turns, pipeline, places, ahead);
        }
        if (stagger && ahead > 0) {
            ahead = 1;
            count_ahead(ahead, pipeline);
        }
        if constexpr (!walk) store_tile(sums, tile, pipeline, bias, output, workspace, batch, number);
    }
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
        init_barriers<shared_step_ring>(pipeline.step, step_stages);
        if constexpr (reuse)
            init_barriers<shared_input_ring>(pipeline.input, input_stages, block_pack ? k_packing_warps : 1);
        if constexpr (block_pack) init_raw(pipeline.raw);
        if constexpr (resident) init_resident(pipeline.resident);
        if constexpr (planned_tiles) barrier_init(*pipeline.planned, 1);
        for (int i = 0; stagger && i < consumers; ++i)
            barrier_init(pipeline.ahead[i], 1);
        barrier_init_fence();
    }
    if constexpr (zero_rows > 0) clear_behind_boxes(pipeline);
    sync_all();
    let_next_launch_start();
    // The input as it lies does not depend on it: only who loads weights waits.
    const bool loads_weights = threadIdx.x == consumers * k_warpgroup;
    if (!raw_boxes || (loads_weights && !feeds_beside)) wait_for_launch_before();

    if (threadIdx.x / k_warpgroup == consumers) {
        if constexpr (share_registers) give_registers<producer_registers>();
        if constexpr (feeds_beside) {
            if (loads_weights) load_resident_and_slices(pipeline, input, weights, batch);
        } else {
            if (loads_weights) load_tiles(pipeline, input, weights, batch);
        }
        if constexpr (block_pack) {
            if (threadIdx.x >= threads - k_packing_threads) pack_tiles(pipeline, input, batch);
        }
        if (raw_boxes && !block_pack && threadIdx.x == threads - 32) load_raw_boxes(pipeline, input, batch);
        if (planned_tiles && threadIdx.x == consumers * k_warpgroup + 32) {
            plan_tiles(*pipeline.plan, batch);
            barrier_arrive(*pipeline.planned);
        }
    } else {
        if constexpr (share_registers) take_registers<consumer_registers>();
        multiply_tiles(pipeline, bias, output, workspace, batch);
    }
    // No block ends while another may still signal its barriers.
    if constexpr (cluster_blocks > 1) cluster_sync();
}

/// Adds the sums of split tiles up and stores them: a block takes product after product.
extern "C" __global__ void __launch_bounds__(tconv::k_warpgroup)
    tconv_hopper_add(unsigned char* __restrict__ workspace, const tconv::Element* __restrict__ bias,
                     tconv::Element* __restrict__ output, int batch) {
    using namespace tconv;
    using namespace tconv::hopper;
    wait_for_launch_before();
    Tile tile{};
    for (int index = blockIdx.x;; index += gridDim.x) {
        int whole = index;
        const int product = split_off(whole, consumers * rows);
        if (!find_tile(tile, split_number(whole, 0), batch)) return;
        float sums[tile_n / 2] = {};
#pragma unroll 1
        for (int split = 0; split < splits; ++split)
            add_split(sums, split_sums(workspace, batch, split_number(whole, split), product));
        Store::run(sums, tile, product * k_product_rows, dynamic_shared<unsigned char>(), bias, output, batch);
    }
}
