// Channels-first stores. A team of threads, a warp or a warpgroup, stages lines: for each channel and phase along depth
// and height the outputs of its positions at all phases along the width, and writes them in vectors.
//
// Positions that are neighbours along the width are a segment. Where every row of the output and every segment begins
// at a boundary of a vector, a line is its segments behind one another; else each segment of a line has a phase of its
// own, and what is not a whole vector is written in smaller pieces.
#pragma once

#include "hopper_stage.cuh"

namespace tconv::hopper {

struct StoreFirst {
    static constexpr int team_rows = config::store_rows;
    static constexpr int team = 2 * team_rows;  // threads
    static constexpr int vector = config::store_bytes / static_cast<int>(sizeof(Element));
    static constexpr bool shifted = !channels_last && config::store_shifted != 0;
    static constexpr int segments = config::store_segments;
    static constexpr int pitch = config::line_pitch;  // elements
    static constexpr int slots_w = AxisW::slots;
    static constexpr int lines = chunk_columns / slots_w;  // of a chunk
    static constexpr int line_slots = slots_dh < lines ? slots_dh : lines;
    static constexpr int channels = lines / line_slots;
    /// Lines that begin in every eight columns of a part. A thread's columns lie eight apart, so what their lines add
    /// to a phase differs by constants alone.
    static constexpr int eight_lines = parts > 1 ? 8 * slots_dh / part_slots : 8 / slots_w;
    static constexpr bool steady_lines = eight_lines > 0 && eight_lines % line_slots == 0;
    static_assert(channels_last || parts == 1 ||
                      (chunk_columns % (8 * parts) == 0 && chunk_columns % slots == 0 && slots_w % 2 == 0),
                  "a part has whole eights of columns, a chunk all phases of some channels");
    /// Neighbours along the width, and from a row to the next; rows of a product begin with one, or anywhere (in
    /// order).
    static constexpr int row_positions = flat ? static_cast<int>(problem::input_w) : AxisW::box;
    static constexpr int row_step = in_lines ? pitch_w : row_positions;
    static constexpr bool whole_parts = reuse && !in_lines;
    static constexpr i64 output_volume = problem::output_d * problem::output_h * problem::output_w;
    /// False where all lines of a segment have its phase.
    static constexpr bool line_phases = shifted && problem::output_w % vector != 0;
    static_assert(channels_last || (chunk_columns % slots_w == 0 && lines % line_slots == 0 &&
                                    slots_dh % line_slots == 0 && slots_dh * slots_w * out_group == columns),
                  "a chunk holds phases of one channel, or all phases of some");
    static_assert(channels_last ||
                      k_product_rows / team_rows * lines * pitch * static_cast<int>(sizeof(Element)) <= staging_bytes,
                  "the staging holds a chunk of columns");

    /// Vectors of a segment at most.
    static constexpr int most_vectors =
        config::store_run * slots_w >= vector ? config::store_run * slots_w / vector : 1;
    /// Unrolled copies: the sums that wait leave few registers.
    static constexpr int copies_in_flight = config::store_bytes >= 16 ? 2 : 4;

    /// Columns that are staged at a time.
    struct Chunk {
        Element* staged;
        Element* output;
        int first_row;  // of the team
        int batch;
        int channel;  // the first, within the group
        int slot;     // the first phase along depth and height
        int thread;   // of the team
    };

    /// Elements from the output of phase 0 along depth and height to that of phase `slot`.
    __device__ static __forceinline__ int slot_offset(int slot) {
        return (slot / AxisH::slots * AxisH::output + slot % AxisH::slots) * AxisW::output;
    }

    /// Where the team's positions of one segment go: their first row, how many there are, the first output.
    struct Segment {
        int row, count;
        Position at;
    };
    __device__ static __forceinline__ Segment segment_of(const Tile& tile, int first_row, int number, int batch) {
        int row = first_row;
        int end = first_row + team_rows;
        if constexpr (whole_parts) {
            row += number * part_w;
            end = row + part_w;
        } else {
            const int past = place_in_rows(tile, first_row) % row_step;
            const int begin = first_row - past + number * row_step;
            row = row < begin ? begin : row;
            end = end < begin + row_positions ? end : begin + row_positions;
            if constexpr (tap_columns) end = min(end, end_row());
        }
        return {row, end - row, position_of(tile, row, batch)};
    }
    __device__ static __forceinline__ int segment_number(const Tile& tile, int first_row, int row) {
        if constexpr (whole_parts) return row / part_w;
        return (place_in_rows(tile, first_row) % row_step + row) / row_step;
    }
    /// The number that a row of the tile has among positions that fill rows along the width.
    __device__ static __forceinline__ int place_in_rows(const Tile& tile, int row) {
        if constexpr (raw_input)
            return (tile.batch + row / run_positions) % entry_runs * run_positions + row % run_positions;
        return in_order ? tile.first_place() + row : tile.past_line + row;
    }

    /// Where a segment is staged in a line, but for its phase, which has room.
    __device__ static __forceinline__ int segment_base(const Segment& segment, int first_row, int number) {
        return ((segment.row - first_row) * slots_w & -vector) + number * 2 * vector;
    }

    /// Offset of a position's first channel of the group at phase 0; it may lie outside.
    __device__ static __forceinline__ i64 offset_of(const Position& at, int group) {
        const i64 line = static_cast<i64>(at.batch) * problem::out_channels + group * out_group;
        return ((line * AxisD::output + at.out_d) * AxisH::output + at.out_h) * AxisW::output + at.out_w;
    }

    /// Where a row of the product is staged in a line: `element`, and what the phase of its segment adds.
    struct StagedRow {
        int element;
        u32 phase;
    };
    __device__ static __forceinline__ StagedRow staged_row(const Tile& tile, int first_row, int row, int batch,
                                                           const Element* output) {
        if constexpr (!shifted) return {row * slots_w, 0};
        const int number = segment_number(tile, first_row, row);
        const Segment segment = segment_of(tile, first_row, number, batch);
        return {segment_base(segment, first_row, number) + (first_row + row - segment.row) * slots_w,
                element_number(output, offset_of(segment.at, tile.group))};
    }

    /// What channel `channel` and phase `slot` along depth and height add to a segment's phase.
    __device__ static __forceinline__ u32 line_phase(int channel, int slot) {
        if constexpr (!line_phases) return 0;
        return static_cast<u32>(channel) * static_cast<u32>(output_volume) + static_cast<u32>(slot_offset(slot));
    }
    /// The phase of line `line` of a chunk.
    __device__ static __forceinline__ int phase_of(const Chunk& chunk, const StagedRow& row, u32 line) {
        constexpr bool steady_chunks = line_slots == slots_dh && channels * output_volume % vector == 0;
        u32 phase = row.phase;
        if constexpr (!steady_chunks) phase += line_phase(chunk.channel, chunk.slot);
        if constexpr (steady_lines) {
            constexpr u32 step = static_cast<u32>(eight_lines / line_slots * output_volume % vector);
            const u32 rest = line % eight_lines;
            phase += line_phase(rest / line_slots, rest % line_slots) + line / eight_lines * step;
        } else {
            phase += line_phase(line / line_slots, line % line_slots);
        }
        return static_cast<int>(phase & (vector - 1));
    }

    __device__ static void run(const float (&sums)[tile_n / 2], const Tile& tile, int product_row,
                               unsigned char* staging, const Element* bias, Element* output, int batch) {
        const int team_number = threadIdx.x % k_warpgroup / team;
        const int lane = threadIdx.x % 32;
        Chunk chunk{reinterpret_cast<Element*>(staging) + team_number * (lines * pitch),
                    output,
                    product_row + team_number * team_rows,
                    batch,
                    0,
                    0,
                    static_cast<int>(threadIdx.x % team)};
        StagedRow staged_rows[2];
#pragma unroll
        for (int half = 0; half < 2; ++half)
            staged_rows[half] =
                staged_row(tile, chunk.first_row, chunk.thread / 32 * 16 + lane / 4 + 8 * half, batch, output);
#pragma unroll
        for (int part = 0; part < tile_n / chunk_columns; ++part) {
            const int first = tile.column + part * chunk_columns;
            if (first >= columns) break;
            chunk.channel = first / slots;
            chunk.slot = line_slots == slots_dh ? 0 : first / slots_w % slots_dh;
            sync_team();
            if constexpr (parts > 1) {
                put_parts(sums, tile, bias, chunk, staged_rows, part);
                sync_team();
                write(tile, chunk);
                continue;
            }
#pragma unroll
            for (int j = 0; j < chunk_columns / 8; ++j) {
                const int column = 8 * j + 2 * (lane % 4);
                const Pair offset = bias_pair(bias, tile, first + column);
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const int from = 4 * (part * (chunk_columns / 8) + j) + 2 * half;
                    put(chunk, staged_rows[half], column, biased(sums[from], offset.v[0]),
                        biased(sums[from + 1], offset.v[1]));
                }
            }
            sync_team();
            write(tile, chunk);
        }
    }

    /// Stages chunk `number` of a tile of several parts: in each the same columns belong to it.
    __device__ static __forceinline__ void put_parts(const float (&sums)[tile_n / 2], const Tile& tile,
                                                     const Element* bias, const Chunk& chunk,
                                                     const StagedRow (&rows)[2], int number) {
        constexpr int part_columns = chunk_columns / parts;
        // Columns 2 * (lane % 4) and + 1 of every eight of a part are a phase of two lines, or two phases of one.
        constexpr int slots_together = PartsW::slots == 1 ? 1 : 2;
        constexpr int parts_together = PartsW::slots <= 2 ? PartsW::count : 1;
        const int lane = threadIdx.x % 32;
#pragma unroll
        for (int j = 0; j < part_columns / 8; ++j) {
            const int column = 8 * j + 2 * (lane % 4);
            const Pair offset = bias_pair(bias, tile, tile.column + number * part_columns + column);
#pragma unroll
            for (int i = 0; i < 4; i += slots_together) {
#pragma unroll
                for (int n = 0; n < parts; n += parts_together) {
                    const int w = n % PartsW::count;
                    const int h = n / PartsW::count % PartsH::count;
                    const int d = n / PartsW::count / PartsH::count;
                    Element values[parts_together * slots_together];
#pragma unroll
                    for (int k = 0; k < parts_together * slots_together; ++k) {
                        const int part = part_number({d, h, w + k / slots_together});
                        const int past = i + k % slots_together;
                        const int from = (part * part_n + number * part_columns) / 8 + j;
                        values[k] = biased(sums[4 * from + past], offset.v[past % 2]);
                    }
                    put_all(chunk, rows[i / 2], place_in_chunk(part_number({d, h, w}), column + i % 2), values);
                }
            }
        }
    }

    /// Where column `number` of those that a part has in a chunk lies among the chunk's: by channel, line, phase.
    __device__ static constexpr int place_in_chunk(int part, int number) {
        const Column column = column_at(part * part_n + number);
        return ((column.channel * AxisD::slots + column.slot_d) * AxisH::slots + column.slot_h) * slots_w +
               column.slot_w;
    }

    /// Stages N columns of a row, an even number, from `column` on.
    template <int N>
    __device__ static __forceinline__ void put_all(const Chunk& chunk, const StagedRow& row, int column,
                                                   const Element (&values)[N]) {
#pragma unroll
        for (int i = 0; i < N; i += !shifted && N % 4 == 0 ? 4 : 2) {
            if constexpr (!shifted && N % 4 == 0) {
                put_quad(chunk.staged + (column + i) / slots_w * pitch + row.element + (column + i) % slots_w,
                         values + i);
            } else {
                put(chunk, row, column + i, values[i], values[i + 1]);
            }
        }
    }

    /// Stages columns `column` and column + 1 of a row.
    __device__ static __forceinline__ void put(const Chunk& chunk, const StagedRow& row, int column, Element first,
                                               Element second) {
        const auto at = [&](int number) {
            const int line = number / slots_w;
            const int phase = shifted ? phase_of(chunk, row, static_cast<u32>(line)) : 0;
            return chunk.staged + line * pitch + row.element + number % slots_w + phase;
        };
        if constexpr (!shifted && slots_w > 1) {
            put_pair(at(column), first, second);
        } else if constexpr (slots_w % 2 == 0) {
            Element* target = at(column);
            target[0] = first;
            target[1] = second;
        } else {
            *at(column) = first;
            *at(column + 1) = second;
        }
    }

    __device__ static __forceinline__ void write(const Tile& tile, const Chunk& chunk) {
        if constexpr (!shifted) {
            write_whole(tile, chunk);
        } else {
            for_each_piece<most_vectors>(
                tile, chunk,
                [](int begin, int end, int phase, int number) {
                    const int first = vector_of<vector>(begin, end, phase, number);
                    return Piece{first, first >= 0 ? vector : 0};
                },
                [](Element* target, const Element* staged, int size) {
                    if (size > 0) copy_elements<vector>(target, staged);
                });
            for_each_piece<edge_pieces<vector>>(tile, chunk, edge_piece<vector>, copy_piece<vector>);
        }
    }

    /// True where phase `slot` of a position lies inside along depth and height.
    __device__ static __forceinline__ bool inside(const Position& at, int slot) {
        const int d = at.out_d + slot / AxisH::slots;
        const int h = at.out_h + slot % AxisH::slots;
        return at.batch >= 0 && d >= 0 && d < AxisD::output && h >= 0 && h < AxisH::output;
    }

    /// Channels that lie side by side in the team, where a channel has `places` accesses.
    __device__ static constexpr int side_by_side(int places) {
        const int most = team / places;
        return most < 1 ? 1 : most > channels ? channels : most;
    }
    __device__ static __forceinline__ int channels_of(const Chunk& chunk) {
        if constexpr (out_group % channels == 0) return channels;
        const int left = out_group - chunk.channel;
        return left < channels ? left : channels;
    }

    /// How far apart the channels of neighbouring threads lie, of `together`: eight threads read 16 bytes each at a
    /// time, and the lines of two channels that are half as long meet in no bank where they lie 64 bytes apart.
    __device__ static constexpr int channels_apart(int places, int together) {
        constexpr int line_bytes = line_slots * pitch * static_cast<int>(sizeof(Element));
        for (int apart = 1; places * config::store_bytes == 64 && together % (2 * apart) == 0; apart *= 2) {
            if (apart * line_bytes % 128 == 64) return apart;
        }
        return 1;
    }

    /// A thread takes the same vector of many channels. Where rows are short, phases along depth and height, whose rows
    /// follow each other in the tensor, go to neighbouring threads.
    __device__ static __forceinline__ void write_whole(const Tile& tile, const Chunk& chunk) {
        constexpr int line_vectors = team_rows * slots_w / vector;
        constexpr int places = line_slots * line_vectors;
        constexpr int together = side_by_side(places);
        constexpr bool slots_first = config::store_rows == k_product_rows;
        // What one round does is the same for all chunks of a tile but for what they add.
        constexpr bool one_round = together * places <= team;
        constexpr int apart = channels_apart(places, together);
#pragma unroll 1
        for (int i = chunk.thread; i < together * places; i = one_round ? together * places : i + team) {
            const int place = i % places;
            const int number = i / places;
            const int first = number / (2 * apart) * (2 * apart) + number % 2 * apart + number / 2 % apart;
            const int slot = slots_first ? place % line_slots : place / line_vectors;
            const int element = (slots_first ? place / line_slots : place % line_vectors) * vector;
            const Position at = position_of(tile, chunk.first_row + element / slots_w, chunk.batch);
            const int out_w = at.out_w + element % slots_w;
            if (!inside(at, chunk.slot + slot) || out_w < 0 || out_w >= AxisW::output) continue;
            const Element* staged = chunk.staged + slot * pitch + element;
            Element* target = chunk.output + offset_of(at, tile.group) + element % slots_w +
                              slot_offset(chunk.slot + slot) + chunk.channel * output_volume;
            const int count = channels_of(chunk);
            staged += first * (line_slots * pitch);
            target += first * output_volume;
            constexpr bool whole_rounds = out_group % channels == 0 && channels % together == 0;
            const int rounds = whole_rounds ? channels / together : (count - first + together - 1) / together;
#pragma unroll copies_in_flight
            for (int n = 0; n < rounds; ++n)
                copy_elements<vector>(target + n * (together * output_volume),
                                      staged + n * (together * line_slots * pitch));
        }
    }

    /// Channels that lie side by side where lines have phases of their own: a power of two, so that a thread's lines
    /// have few phases.
    __device__ static constexpr int lines_together(int places) {
        int together = side_by_side(places);
        while (line_phases && (together & (together - 1)) != 0)
            --together;
        return together;
    }
    /// Phases of the lines of channels that lie `together` apart.
    __device__ static constexpr int phase_kinds(int together) {
        int kinds = 1;
        while (line_phases && kinds * together * output_volume % vector != 0)
            kinds *= 2;
        return kinds;
    }

    /// Copies pieces of each segment of each line, of which [begin, end) is written: locate(begin, end, phase, number)
    /// is number `number` of `Pieces`, copy(target, staged, size) moves it. What a thread copies of lines of the same
    /// phase lies at the same place in each.
    template <int Pieces, class Locate, class Copy>
    __device__ static __forceinline__ void for_each_piece(const Tile& tile, const Chunk& chunk, const Locate& locate,
                                                          const Copy& copy) {
        constexpr int places = line_slots * segments * Pieces;
        constexpr int together = lines_together(places);
        constexpr int kinds = phase_kinds(together);
        constexpr bool few_kinds = kinds <= 2;
        constexpr int at_once = few_kinds ? kinds : 1;
        constexpr bool one_round = together * places <= team;
#pragma unroll 1
        for (int i = chunk.thread; i < together * places; i = one_round ? together * places : i + team) {
            const int slot = i / Pieces % line_slots;
            const int number = i % places / (Pieces * line_slots);
            const Segment segment = segment_of(tile, chunk.first_row, number, chunk.batch);
            if (segment.count <= 0 || !inside(segment.at, chunk.slot + slot)) continue;
            const int out_w = segment.at.out_w;
            const int begin = out_w < 0 ? -out_w : 0;
            const int end = min(segment.count * slots_w, AxisW::output - out_w);
            const i64 offset = offset_of(segment.at, tile.group);
            const StagedRow row{0, element_number(chunk.output, offset)};
            const int first = i / places;
            struct Place {
                Piece piece;
                int phase;
            };
            const auto find = [&](int channel) {
                const int phase = phase_of(chunk, row, static_cast<u32>(channel * line_slots + slot));
                return Place{locate(begin, end, phase, i % Pieces), phase};
            };
            Place found[at_once];
#pragma unroll
            for (int k = 0; k < at_once; ++k)
                found[k] = find(first + k * together);
            const Element* staged = chunk.staged + slot * pitch + segment_base(segment, chunk.first_row, number);
            Element* target = chunk.output + offset + slot_offset(chunk.slot + slot) + chunk.channel * output_volume;
            const int count = channels_of(chunk);
            constexpr bool whole_rounds = out_group % channels == 0 && channels % (at_once * together) == 0;
#pragma unroll(at_once < copies_in_flight ? copies_in_flight / at_once : 1)
            for (int c = first; c < count; c += at_once * together) {
#pragma unroll
                for (int k = 0; k < at_once; ++k) {
                    const int channel = c + k * together;
                    const Place place = few_kinds ? found[k] : find(channel);
                    if (!whole_rounds && channel >= count) break;
                    copy(target + channel * output_volume + place.piece.first,
                         staged + channel * (line_slots * pitch) + place.phase + place.piece.first, place.piece.size);
                }
            }
        }
    }

    __device__ static __forceinline__ void sync_team() {
        if constexpr (team == 32) {
            __syncwarp();
        } else {
            warpgroup_sync(threadIdx.x / k_warpgroup);
        }
    }
};

}  // namespace tconv::hopper
