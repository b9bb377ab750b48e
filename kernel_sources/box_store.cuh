// A thread's sums to the output: straight from registers, or through shared memory where rows are no whole vectors.
#pragma once

#include "box_shape.cuh"
#include "bulk_store.cuh"
#include "element_vectors.cuh"

namespace tconv::box {

constexpr int store_width = config::store_vector;
constexpr bool staged = config::staged_store != 0;
constexpr bool bulk = config::staged_store == 2;  // the copy engine writes what is staged

/// Where the thread's outputs begin within the batch entry.
__device__ __forceinline__ Index output_offset(const Place& thread) {
    const Index position = (AxisD::output_of(thread.d) * AxisH::output + AxisH::output_of(thread.h)) * AxisW::output +
                           AxisW::output_of(thread.w);
    return channels_last ? position * static_cast<Index>(problem::out_channels) + out_channel_of(thread)
                         : out_channel_of(thread) * output_volume + position;
}

/// Calls `write(jd, jh, line)` for each row of the thread that lies inside the output, `line` positions from its first.
template <class Write>
__device__ __forceinline__ void for_rows(const Place& thread, const Write& write) {
#pragma unroll
    for (int jd = 0; jd < AxisD::outputs; ++jd) {
#pragma unroll
        for (int jh = 0; jh < AxisH::outputs; ++jh) {
            if (AxisD::yields(thread.d, jd) && AxisH::yields(thread.h, jh))
                write(jd, jh, (jd * AxisH::output + jh) * AxisW::output);
        }
    }
}

/// Channels first: rows are whole vectors, which lie inside the output or outside.
__device__ __forceinline__ void store_rows(const Sums& sums, Element* first, const Place& thread) {
    for_rows(thread, [&](int jd, int jh, Index line) {
#pragma unroll
        for (int c = 0; c < out_span; ++c) {
#pragma unroll
            for (int jw = 0; jw < AxisW::outputs; jw += store_width) {
                if (AxisW::yields(thread.w, jw))
                    store_vector<store_width>(first + (c * output_volume + line + jw), &sums[c][jd][jh][jw]);
            }
        }
    });
}

/// Channels last: vectors of channels.
__device__ __forceinline__ void store_positions(const Sums& sums, Element* first, const Place& thread) {
    for_rows(thread, [&](int jd, int jh, Index line) {
#pragma unroll
        for (int jw = 0; jw < AxisW::outputs; ++jw) {
            if (!AxisW::yields(thread.w, jw)) continue;
            Element* position = first + (line + jw) * static_cast<Index>(problem::out_channels);
#pragma unroll
            for (int c = 0; c < out_span; c += store_width) {
                float values[store_width];
#pragma unroll
                for (int i = 0; i < store_width; ++i)
                    values[i] = sums[c + i][jd][jh][jw];
                store_vector<store_width>(position + c, values);
            }
        }
    });
}

/// Channels last, where a thread has all channels of a position: those of neighbouring positions lie behind one
/// another. Rows are whole vectors, which lie inside the output or outside.
__device__ __forceinline__ void store_lines(const Sums& sums, Element* first, const Place& thread) {
    for_rows(thread, [&](int jd, int jh, Index line) {
#pragma unroll
        for (int number = 0; number < AxisW::outputs * out_span; number += store_width) {
            if (!AxisW::yields(thread.w, number / out_span)) continue;
            float values[store_width];
#pragma unroll
            for (int i = 0; i < store_width; ++i)
                values[i] = sums[(number + i) % out_span][jd][jh][(number + i) / out_span];
            store_vector<store_width>(first + (line * out_span + number), values);
        }
    });
}

// Staged: what a block computes lies in shared memory in runs that are contiguous in the tensor: of rows where the tile
// covers the width, of planes of an image where it covers the height as well, and so on. Each run begins in shared
// memory as far from a whole vector as it does in the tensor, so that it is copied in vectors but for its ends.
constexpr bool whole_w = tiles_w == 1;
constexpr bool whole_h = whole_w && tiles_h == 1;
constexpr bool whole_d = whole_h && tiles_d == 1;

/// Outputs of the tile along an axis; the last tile may have fewer.
template <class A>
__device__ constexpr Index extent(int tile) {
    return tile * A::outputs < A::output + A::shift ? tile * A::outputs : A::output;
}
/// The same where each is a run of its own: they are numbered from the tile's first, which may lie before the tensor.
template <class A>
__device__ constexpr int numbered(int tile) {
    return static_cast<int>(tile * A::outputs < A::output + A::shift ? tile * A::outputs : A::output + A::shift);
}
constexpr Index extent_w = extent<AxisW>(tile_w);
constexpr Index extent_h = extent<AxisH>(tile_h);
constexpr Index extent_d = extent<AxisD>(tile_d);
constexpr int runs_h = whole_w ? 1 : numbered<AxisH>(tile_h);
constexpr int runs_d = whole_h ? 1 : numbered<AxisD>(tile_d);
constexpr int runs_c = whole_d ? 1 : tile_planes * channels;
constexpr int runs = runs_c * runs_d * runs_h;
constexpr int run_length = static_cast<int>(extent_w * (whole_w ? extent_h : 1) * (whole_h ? extent_d : 1) *
                                            (whole_d ? tile_planes * channels : 1));
constexpr int run_pitch = (run_length + 2 * store_width - 2) / store_width * store_width;

/// A run in the tensor: its first element within the batch entry, how many there are, and the elements before the first
/// in its vector.
struct Run {
    Index first;
    int length;
    int lead;
};

/// What a tile that begins at thread t has of the outputs along an axis.
struct Part {
    Index first;
    int count;
};
template <class A>
__device__ __forceinline__ Part part_of(Index t, int tile) {
    const Index first = A::output_of(t);
    const Index begin = first < 0 ? 0 : first;
    const Index end = first + tile * A::outputs < A::output ? first + tile * A::outputs : A::output;
    return {begin, static_cast<int>(end - begin)};
}

/// Run (c, d, h) of the tile: numbers of a channel, a plane and a row where those are runs of their own, else 0.
__device__ __forceinline__ Run run_of(const Element* entry, const Place& tile, int c, int d, int h) {
    const Part w = part_of<AxisW>(tile.w, tile_w);
    Part rows = part_of<AxisH>(tile.h, tile_h);
    Part slices = part_of<AxisD>(tile.d, tile_d);
    if (!whole_w) rows = {AxisH::output_of(tile.h) + h, AxisH::yields(tile.h, h) ? 1 : 0};
    if (!whole_h) slices = {AxisD::output_of(tile.d) + d, AxisD::yields(tile.d, d) ? 1 : 0};
    const Index left = (static_cast<Index>(planes) - tile.plane) * channels;
    const int volumes = whole_d    ? static_cast<int>(left < tile_planes * channels ? left : tile_planes * channels)
                        : c < left ? 1
                                   : 0;
    Run run{};
    const Index channel = tile.plane * channels + c;
    run.first = ((channel * AxisD::output + slices.first) * AxisH::output + rows.first) * AxisW::output + w.first;
    run.length = volumes * slices.count * rows.count * w.count;
    const u64 elements = reinterpret_cast<u64>(entry) / problem::element_bytes + static_cast<u64>(run.first);
    run.lead = static_cast<int>(elements % store_width);
    return run;
}

/// The thread's outputs to shared memory.
__device__ __forceinline__ void stage(const Sums& sums, Element* shared, const Element* entry, const Place& tile,
                                      const Place& thread) {
    const int d = static_cast<int>(thread.d - tile.d) * AxisD::outputs;
    const int h = static_cast<int>(thread.h - tile.h) * AxisH::outputs;
    const int c = static_cast<int>(thread.plane - tile.plane) * channels;
    const Index offset = output_offset(thread);
#pragma unroll
    for (int i = 0; i < channels; ++i) {
        for_rows(thread, [&](int jd, int jh, Index line) {
            const int run_c = whole_d ? 0 : c + i;
            const int run_d = whole_h ? 0 : d + jd;
            const int run_h = whole_w ? 0 : h + jh;
            const Run run = run_of(entry, tile, run_c, run_d, run_h);
            Element* row = shared + ((run_c * runs_d + run_d) * runs_h + run_h) * run_pitch + run.lead +
                           static_cast<int>(offset + i * output_volume + line - run.first);
#pragma unroll
            for (int jw = 0; jw < AxisW::outputs; ++jw) {
                if (AxisW::yields(thread.w, jw)) row[jw] = from_float<Element>(sums[i][jd][jh][jw]);
            }
        });
    }
}

/// Of as many threads as there are `lanes`. The ends of the run are single elements of vectors that it has in part.
__device__ __forceinline__ void write_run(const Element* shared, Element* target, const Run& run, int lane, int lanes) {
    const int end = run.lead + run.length;
    const int whole_begin = run.lead > 0 ? 1 : 0;
    const int whole_end = end / store_width;
    if constexpr (bulk) {
        if (lane == 0 && whole_begin < whole_end) {
            bulk_store(target + whole_begin * store_width, shared + whole_begin * store_width,
                       static_cast<u32>((whole_end - whole_begin) * store_width * problem::element_bytes));
        }
    } else {
#pragma unroll 4
        for (int i = whole_begin + lane; i < whole_end; i += lanes)
            copy_vector<store_width>(target + i * store_width, shared + i * store_width);
    }
    if (lane < store_width) {
        const int tail = whole_end * store_width + lane;
        if (lane >= run.lead && lane < end && run.lead > 0) target[lane] = shared[lane];
        if (tail >= run.lead && tail < end) target[tail] = shared[tail];
    }
}

/// All threads of the block together, after a barrier: as many to a run as it has vectors, in whole warps.
__device__ __forceinline__ void write_runs(const Element* shared, Element* entry, const Place& tile) {
    constexpr int run_warps = bulk ? 1 : (run_pitch / store_width + 31) / 32;
    constexpr int lanes = run_warps * 32 < threads ? run_warps * 32 : threads;
    constexpr int teams = threads / lanes;
    const int team = static_cast<int>(threadIdx.x) / lanes;
    if (team >= teams) return;
    for (int number = team; number < runs; number += teams) {
        const Run run = run_of(entry, tile, number / (runs_d * runs_h), number / runs_h % runs_d, number % runs_h);
        write_run(shared + number * run_pitch, entry + (static_cast<i64>(run.first) - run.lead), run,
                  static_cast<int>(threadIdx.x) % lanes, lanes);
    }
    if constexpr (bulk) bulk_store_wait();
}

}  // namespace tconv::box
