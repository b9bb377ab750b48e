// Channels-last stores where channels begin at no multiple of a vector: the outputs of a position at neighbouring
// phases along the width lie together in memory, a run of columns, which may begin anywhere. A warp stages each run so
// that its elements lie as they do in the tensor, seen from the last boundary of a vector.
#pragma once

#include "hopper_stage.cuh"

namespace tconv::hopper {

struct StoreRuns {
    static constexpr bool used = channels_last && config::store_shifted != 0;
    static constexpr int warp_rows = 16;
    static constexpr int row_threads = 4;
    static constexpr int passes = warp_rows * row_threads / 32;
    static constexpr int vector = 16 / element_bytes;
    static constexpr int pitch = config::line_pitch;  // elements
    /// Phases along the width of a run; other groups' channels lie between the phases of one.
    static constexpr int run_slots = problem::groups == 1 ? AxisW::slots : 1;
    static constexpr int run_columns = run_slots * out_group;
    /// Most runs of which a chunk has columns.
    static constexpr int segments = config::store_segments;
    static_assert(!used || 4 * warp_rows * pitch * element_bytes <= staging_bytes,
                  "the staging holds the rows of four warps");
    static_assert(!used || chunk_columns + segments * vector <= pitch, "a line holds the segments, each at its phase");

    /// Columns [first, first + chunk_columns) of the product.
    struct Chunk {
        int first;
        int number;  // of the run that the first column lies in
        int past;    // columns of that run before it

        __device__ explicit Chunk(int column)
            : first(column), number(column / run_columns), past(column % run_columns) {}
        /// The column of the chunk with which run `segment` from the first on begins; of that one it lies before.
        __device__ __forceinline__ int begin(int segment) const { return segment * run_columns - past; }
    };

    /// Elements from the outputs of all phases 0 to those of a run.
    __device__ static __forceinline__ i64 run_offset(int number) {
        const int slot_w = run_slots < AxisW::slots ? number % AxisW::slots : 0;
        const int slot_dh = run_slots < AxisW::slots ? number / AxisW::slots : number;
        const int line = slot_dh / AxisH::slots * AxisH::output + slot_dh % AxisH::slots;
        return (static_cast<i64>(line) * AxisW::output + slot_w) * problem::out_channels;
    }
    /// Offset of a position's first channel of the group at phases 0; it may lie outside.
    __device__ static __forceinline__ i64 offset_of(const Position& at, int group) {
        const i64 line = (static_cast<i64>(at.batch) * AxisD::output + at.out_d) * AxisH::output + at.out_h;
        return (line * AxisW::output + at.out_w) * problem::out_channels + group * out_group;
    }
    /// How far behind its column a segment of a row, whose first output is element `row_element`, is staged.
    __device__ static __forceinline__ int shift_of(const Chunk& chunk, int segment, u32 row_element) {
        const u32 begin =
            row_element + static_cast<u32>(run_offset(chunk.number + segment)) - static_cast<u32>(chunk.begin(segment));
        return segment * vector + static_cast<int>(begin % vector);
    }

    __device__ static void run(const float (&sums)[tile_n / 2], const Tile& tile, int product_row,
                               unsigned char* staging, const Element* bias, Element* output, int batch) {
        const int warp = threadIdx.x % k_warpgroup / 32;
        const int first_row = product_row + warp * warp_rows;
        Element* rows = reinterpret_cast<Element*>(staging) + warp * (warp_rows * pitch);
        const int lane = threadIdx.x % 32;
        Position at[passes];
#pragma unroll
        for (int pass = 0; pass < passes; ++pass)
            at[pass] = position_of(tile, first_row + pass * (32 / row_threads) + lane / row_threads, batch);
        u32 elements[2];
#pragma unroll
        for (int half = 0; half < 2; ++half)
            elements[half] = element_number(
                output, offset_of(position_of(tile, first_row + lane / 4 + 8 * half, batch), tile.group));
#pragma unroll
        for (int part = 0; part < tile_n / chunk_columns; ++part) {
            const Chunk chunk(tile.column + part * chunk_columns);
            if (chunk.first >= columns) break;
            int shifts[2][segments];
#pragma unroll
            for (int i = 0; i < 2 * segments; ++i)
                shifts[i / segments][i % segments] = shift_of(chunk, i % segments, elements[i / segments]);
#pragma unroll
            for (int j = 0; j < chunk_columns / 8; ++j) {
                const int column = 8 * j + 2 * (lane % 4);
                const Pair offset = bias_pair(bias, tile, chunk.first + column);
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    put(rows + (lane / 4 + 8 * (i / 2)) * pitch, chunk, shifts[i / 2], column + i % 2,
                        sums[4 * (part * (chunk_columns / 8) + j) + i] + offset.v[i % 2]);
            }
            __syncwarp();
#pragma unroll
            for (int pass = 0; pass < passes; ++pass) {
                const Element* row = rows + (pass * (32 / row_threads) + lane / row_threads) * pitch;
#pragma unroll
                for (int segment = 0; segment < segments; ++segment)
                    write(chunk, segment, at[pass], tile.group, row, output);
            }
            __syncwarp();
        }
    }

    __device__ static __forceinline__ void put(Element* row, const Chunk& chunk, const int (&shifts)[segments],
                                               int column, float value) {
        int shift = shifts[0];
#pragma unroll
        for (int segment = 1; segment < segments; ++segment)
            shift = column >= chunk.begin(segment) ? shifts[segment] : shift;
        row[column + shift] = from_float<Element>(value);
    }

    /// The part of a row's segment that lies inside the output, by the threads of a row.
    __device__ static __forceinline__ void write(const Chunk& chunk, int segment, const Position& at, int group,
                                                 const Element* row, Element* output) {
        const Column slots = column_at((chunk.number + segment) * run_columns);
        const int d = at.out_d + slots.slot_d;
        const int h = at.out_h + slots.slot_h;
        const int w = at.out_w + slots.slot_w;
        if (at.batch < 0 || d < 0 || d >= AxisD::output || h < 0 || h >= AxisH::output) return;
        const int begin = chunk.begin(segment);
        const int end = min(chunk_columns, columns - chunk.first);
        int from = max(begin + max(-w, 0) * out_group, 0);
        int to = min(begin + min(AxisW::output - w, run_slots) * out_group, end);
        const i64 origin = offset_of(at, group) + run_offset(chunk.number + segment) - begin;
        const int shift = segment * vector + static_cast<int>(element_number(output, origin) % vector);
        Element* target = output + (origin - shift);
        from += shift;
        to += shift;
        // Whole vectors, and single elements before and behind them.
        const int head = min((from + vector - 1) & -vector, to);
        const int tail = max(to & -vector, head);
        const int thread = threadIdx.x % row_threads;
        constexpr int most_vectors = (chunk_columns < run_columns ? chunk_columns : run_columns) / vector;
#pragma unroll
        for (int i = 0; i < most_vectors; i += row_threads) {
            const int element = head + (i + thread) * vector;
            if (element < tail) copy_elements<vector>(target + element, row + element);
        }
#pragma unroll
        for (int i = thread; i < vector; i += row_threads) {
            if (from + i < head) copy_elements<1>(target + from + i, row + from + i);
            if (tail + i < to) copy_elements<1>(target + tail + i, row + tail + i);
        }
    }
};

}  // namespace tconv::hopper
