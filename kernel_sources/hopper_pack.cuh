// The launches that bring operands into the order of the hopper family's product.
//
// Each turns a matrix of channels and columns, positions of the input or output channels and taps of the weights, so
// that a column becomes an operand row. A thread turns a few columns of as many channels as fill 16 bytes of a row: it
// loads vectors along one of the two, stores 16 bytes along the other, and has in registers what lies between.
#pragma once

#include "element_vectors.cuh"
#include "hopper_shape.cuh"
#include "tma.cuh"

namespace tconv::hopper {

constexpr int k_pack_threads = 128;
/// Channels that fill 16 bytes of an operand row; split, 16 bytes of high parts and 16 of low ones.
constexpr int slice_channels = split ? 8 : 16 / static_cast<int>(sizeof(Operand));
constexpr int slice_pieces = split ? 2 : 1;
constexpr int row_slices = block_channels / slice_channels;

/// Some channels of one column as they lie in an operand row.
struct Slice {
    Floats<4> pieces[slice_pieces];
};
/// value(i) is channel i.
template <class Value>
__device__ __forceinline__ Slice make_slice(const Value& value) {
    Slice slice;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        if constexpr (sizeof(Operand) == 4) {
            slice.pieces[0].v[i] = __uint_as_float(round_to_tf32(to_float(value(i))));
        } else if constexpr (!split) {
            const u32 word = value(2 * i).bits | static_cast<u32>(value(2 * i + 1).bits) << 16;
            slice.pieces[0].v[i] = __uint_as_float(word);
        } else {
            u32 high, low;
            split_bf16(value(2 * i), value(2 * i + 1), high, low);
            slice.pieces[0].v[i] = __uint_as_float(high);
            slice.pieces[1].v[i] = __uint_as_float(low);
        }
    }
    return slice;
}

/// Low parts lie half a row from the high ones, swizzled or not.
__device__ __forceinline__ void store_slice(unsigned char* packed, i64 offset, const Slice& slice) {
#pragma unroll
    for (int i = 0; i < slice_pieces; ++i)
        store<4>(reinterpret_cast<float*>(packed + (offset ^ (i * k_operand_row / 2))), slice.pieces[i]);
}

template <int N>
__device__ __forceinline__ float lane_of(const Floats<N>& vector, int i) {
    return vector.v[i];
}
template <int N, class T = Element>
__device__ __forceinline__ T lane_of(const Halves<N>& vector, int i) {
    if constexpr (N == 1) {
        return T{vector.value};
    } else {
        return T{static_cast<u16>(vector.words[i / 2] >> (16 * (i % 2)))};
    }
}

/// Where the columns and the channels of a thread are, of those of its block: `Slices` lanes of a warp lie along the
/// channels and the others along the columns; so do its warps, as far as a row has slices.
template <int Slices, int Columns>
struct PackLanes {
    static constexpr int slices = Slices;
    static constexpr int column_lanes = 32 / Slices;
    static constexpr int row_warps = row_slices / Slices;
    static constexpr int column_warps = k_pack_threads / 32 / row_warps;
    static constexpr int columns = column_warps * column_lanes * Columns;  // of a block
    int channel;
    int column;  // of columns that follow each other in memory the first
    static __device__ __forceinline__ PackLanes of_thread() {
        const int lane = threadIdx.x % 32;
        const int warp = threadIdx.x / 32;
        return {(warp % row_warps * Slices + lane % Slices) * slice_channels,
                (warp / row_warps * column_lanes + lane / Slices) * Columns};
    }
};

/// Columns whose elements lie together for each channel, which has `pitch` elements: `Columns` of them from `source`
/// on, of the first `present` channels, the others are zero.
template <int Columns>
struct Lines {
    Vector<Columns> lines[slice_channels];
    __device__ __forceinline__ Lines(const Element* source, i64 pitch, int present) {
#pragma unroll
        for (int i = 0; i < slice_channels; ++i) {
            lines[i] = {};
            load_if<Columns>(i < present, lines[i], source + i * pitch);
        }
    }
    __device__ __forceinline__ Slice slice(int column) const {
        return make_slice([&](int i) { return lane_of(lines[i], column); });
    }
};

/// Where the row of its operand begins that an output channel's weights at a tap are, among all packed ones.
__device__ __forceinline__ u32 packed_row(int channel, int group, int channel_block, const TapPlace& d,
                                          const TapPlace& h, const TapPlace& w) {
    const int number =
        column_of({channel, AxisD::joined ? d.phase : 0, AxisH::joined ? h.phase : 0, AxisW::joined ? w.phase : 0});
    const int class_d = AxisD::joined ? 0 : d.phase;
    const int class_h = AxisH::joined ? 0 : h.phase;
    const int class_w = AxisW::joined ? 0 : w.phase;
    const int phase_class = (class_d * AxisH::classes + class_h) * AxisW::classes + class_w;
    if constexpr (tap_columns) {
        const int step = (walk ? channel_block : channel_block * d.count + d.number) * h.count + h.number;
        const int column = (walk ? d.number * plane_n : 0) + w.number * tap_group + number;
        return static_cast<u32>(packed_weights(phase_class, group, number / tile_n)) +
               static_cast<u32>(step) * weight_stage + column * k_operand_row;
    }
    const int part = number % tile_n / part_n;
    const int steps_before = parts_before(d.number, h.number, w.number, h.count, w.count) +
                             channel_block * parts_before(d.count, 0, 0, h.count, w.count);
    const int before = steps_before + step_parts(d.number, h.number, w.number).before(part);
    return static_cast<u32>(packed_weights(phase_class, group, number / tile_n)) +
           static_cast<u32>(before) * part_bytes + number % part_n * k_operand_row;
}

/// Weights are a matrix of input channels times output channels and taps, in the order of memory: transposed, a column
/// is a row of the operand of its phase. Grid: columns, blocks of channels, groups.
constexpr int weight_width = out_group * static_cast<int>(kernel_volume);
constexpr int weight_vector = config::weight_vector;
/// Lanes that make a whole row together read fewer neighbours in memory: as long as those are 32 bytes.
constexpr bool whole_weight_rows = weight_vector * problem::element_bytes * (32 / row_slices) >= 32;
using WeightLanes = PackLanes<whole_weight_rows ? row_slices : 2, weight_vector>;
static_assert(raw_weights || WeightLanes::columns == config::weight_columns, "the grid covers the weights");

/// A column of the weights.
struct WeightColumn {
    int channel, k_d, k_h, k_w;
};
__device__ __forceinline__ WeightColumn weight_column(u32 column) {
    constexpr u32 volume = kernel_volume;
    const int channel = static_cast<int>(channels_last ? column % out_group : column / volume);
    u32 tap = channels_last ? column / out_group : column % volume;
    const int k_w = split_off(tap, AxisW::kernel);
    const int k_h = split_off(tap, AxisH::kernel);
    return {channel, static_cast<int>(tap), k_h, k_w};
}
__device__ __forceinline__ u32 row_of(const WeightColumn& column, int group, int channel_block) {
    return packed_row(column.channel, group, channel_block, AxisD::place_of(column.k_d), AxisH::place_of(column.k_h),
                      AxisW::place_of(column.k_w));
}

/// The end of the taps that tap `tap` writes: the last one also writes those that joined phases add, which are zero.
template <class Axis, bool Padded>
__device__ constexpr int end_of_taps(int tap) {
    return Padded && tap + 1 == Axis::kernel ? Axis::padded_kernel : tap + 1;
}
constexpr bool padded_d = PartsD::count == 1 && AxisD::padded_kernel > AxisD::kernel;
constexpr bool padded_h = PartsH::count == 1 && AxisH::padded_kernel > AxisH::kernel;
constexpr bool padded_w = PartsW::count == 1 && AxisW::padded_kernel > AxisW::kernel && !(tap_columns && channels_last);

__device__ __forceinline__ void store_padding(unsigned char* packed, const WeightColumn& column, int group,
                                              int channel_block, int byte) {
    for (int d = column.k_d; d < end_of_taps<AxisD, padded_d>(column.k_d); ++d) {
        for (int h = column.k_h; h < end_of_taps<AxisH, padded_h>(column.k_h); ++h) {
            for (int w = column.k_w; w < end_of_taps<AxisW, padded_w>(column.k_w); ++w) {
                if (d == column.k_d && h == column.k_h && w == column.k_w) continue;
                store_slice(packed,
                            swizzled<k_operand_row>(row_of({column.channel, d, h, w}, group, channel_block) + byte),
                            {});
            }
        }
    }
}

__device__ __forceinline__ void pack_weights(const Element* weight, unsigned char* packed) {
    const int channel_block = blockIdx.y;
    const int group = blockIdx.z;
    const WeightLanes lanes = WeightLanes::of_thread();
    const int channel = channel_block * block_channels + lanes.channel;
    const int byte = lanes.channel / slice_channels * 16;
    const int first_column = static_cast<int>(blockIdx.x) * WeightLanes::columns + lanes.column;
    const bool present = first_column < weight_width;
    const Lines<weight_vector> lines(
        weight + (static_cast<i64>(group) * in_group + channel) * weight_width + first_column, weight_width,
        present ? in_group - channel : 0);
    // Each lane finds the row of one of the warp's columns while the weights are on their way.
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int lane_column = lane / WeightLanes::slices * weight_vector;  // the warp's number of the thread's first one
    const u32 lane_row =
        row_of(weight_column(static_cast<u32>(first_column - lane_column + lane)), group, channel_block);
    u32 rows_of_columns[weight_vector];
#pragma unroll
    for (int i = 0; i < weight_vector; ++i)
        rows_of_columns[i] = __shfl_sync(0xffffffffu, lane_row, lane_column + i);
    if (!present) return;
#pragma unroll
    for (int i = 0; i < weight_vector; ++i)
        store_slice(packed, swizzled<k_operand_row>(rows_of_columns[i] + byte), lines.slice(i));
    if constexpr (padded_d || padded_h || padded_w) {
        for (int i = 0; i < weight_vector; ++i)
            store_padding(packed, weight_column(static_cast<u32>(first_column + i)), group, channel_block, byte);
    }
}

/// Bytes of one position of the packed input.
constexpr i64 packed_position = static_cast<i64>(problem::groups) * channel_blocks * k_operand_row;

// The input as operand rows: [batch][position][group][block of channels], 128 bytes each, zeros past the group's last
// channel. Grid: positions and batch, blocks of channels of all groups.
constexpr int input_vector = config::input_vector;

/// Channels first: vectors are positions of one channel.
struct PackFirst {
    static constexpr bool whole_lines = input_vector * problem::element_bytes == 16;
    using Lanes = PackLanes<whole_lines && row_slices == 8 ? 8 : 4, input_vector>;

    __device__ static void run(const Element* entry, unsigned char* target, const Lanes& lanes, int group, int channel,
                               int first_position) {
        const int position = first_position + lanes.column;
        if (position >= input_volume) return;
        const Lines<input_vector> lines(entry + (group * in_group + channel) * input_volume + position, input_volume,
                                        in_group - channel);
#pragma unroll
        for (int i = 0; i < input_vector; ++i)
            store_slice(target, (position + i) * packed_position, lines.slice(i));
    }
};

/// Channels last: vectors are channels of one position. A thread's positions lie as far apart as lanes do.
struct PackLast {
    static constexpr int positions = 4;
    using Lanes = PackLanes<row_slices, 1>;
    static constexpr int vectors = slice_channels / input_vector;

    __device__ static void run(const Element* entry, unsigned char* target, const Lanes& lanes, int group, int channel,
                               int first_position) {
        Vector<input_vector> values[positions][vectors];
#pragma unroll
        for (int p = 0; p < positions; ++p) {
            const int position = first_position + p * Lanes::columns + lanes.column;
            const Element* source = entry + position * problem::in_channels + group * in_group + channel;
#pragma unroll
            for (int i = 0; i < vectors; ++i) {
                values[p][i] = {};
                load_if<input_vector>(position < input_volume && channel + i * input_vector < in_group, values[p][i],
                                      source + i * input_vector);
            }
        }
#pragma unroll
        for (int p = 0; p < positions; ++p) {
            const int position = first_position + p * Lanes::columns + lanes.column;
            if (position >= input_volume) return;
            store_slice(target, position * packed_position,
                        make_slice([&](int i) { return lane_of(values[p][i / input_vector], i % input_vector); }));
        }
    }
};

template <bool ChannelsLast>
struct PackInputOf {
    using type = PackFirst;
    static constexpr int columns = PackFirst::Lanes::columns;
};
template <>
struct PackInputOf<true> {
    using type = PackLast;
    static constexpr int columns = PackLast::positions * PackLast::Lanes::columns;
};

/// Blocks that follow each other take the channels of the same positions, whose rows lie together. Of a large input the
/// first positions come last: with them the product begins, and finds them in the L2 cache.
__device__ __forceinline__ void pack_input(const Element* input, unsigned char* packed) {
    using Pack = PackInputOf<channels_last>::type;
    constexpr int positions = PackInputOf<channels_last>::columns;
    static_assert(!packed_input || positions == config::input_columns, "the grid covers the input");
    constexpr u32 entry_blocks = static_cast<u32>((input_volume + positions - 1) / positions);
    constexpr int all_blocks = static_cast<int>(problem::groups) * channel_blocks;
    u32 number = gridDim.y * gridDim.x - 1 - (blockIdx.y * gridDim.x + blockIdx.x);
    const int block = split_off(number, all_blocks);
    const int first_position = split_off(number, entry_blocks) * positions;
    const i64 batch = number;
    const auto lanes = Pack::Lanes::of_thread();
    const int channel = block % channel_blocks * block_channels + lanes.channel;
    unsigned char* target = packed + batch * (input_volume * packed_position) +
                            static_cast<i64>(block) * k_operand_row + lanes.channel / slice_channels * 16;
    Pack::run(input + batch * (problem::in_channels * input_volume), target, lanes, block / channel_blocks, channel,
              first_position);
}

}  // namespace tconv::hopper
