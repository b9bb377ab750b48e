// The launches that bring operands into the order of the hopper family's product.
#pragma once

#include "hopper_shape.cuh"
#include "tma.cuh"

namespace tconv::hopper {

constexpr int k_pack_threads = 256;
/// Columns of the weights, or positions of the input, that a block packs.
constexpr int k_pack_columns = 64;
/// A 16-byte piece of an operand row.
constexpr int piece_values = 16 / static_cast<int>(sizeof(Operand));

/// The piece that begins at byte `column` of an operand row; value(i) is channel i of the row's block.
template <class Value>
__device__ __forceinline__ Floats<4> make_piece(int column, const Value& value) {
    Floats<4> piece;
    constexpr int half_row = k_operand_row / 2;
    const bool low_parts = split && column >= half_row;
    const int first = (low_parts ? column - half_row : column) / static_cast<int>(sizeof(Operand));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        u32 word;
        if constexpr (sizeof(Operand) == 4) {
            word = round_to_tf32(to_float(value(first + i)));
        } else if constexpr (!split) {
            word = value(first + 2 * i).bits | static_cast<u32>(value(first + 2 * i + 1).bits) << 16;
        } else {
            u32 high, low;
            split_bf16(value(first + 2 * i), value(first + 2 * i + 1), high, low);
            word = low_parts ? low : high;
        }
        piece.v[i] = __uint_as_float(word);
    }
    return piece;
}

/// Elements of one block of channels, with room so that neither the rows nor the columns of a warp meet in one bank.
struct PackTile {
    Element values[block_channels][k_pack_columns + 4 / static_cast<int>(sizeof(Element))];
};

static_assert(sizeof(PackTile) <= 8448, "the launches ask for so much shared memory");

/// Where an output channel's weights at a tap lie among the packed ones: the row of their operand.
__device__ __forceinline__ i64 packed_row(int channel, int group, int channel_block, const TapPlace& d,
                                          const TapPlace& h, const TapPlace& w, int byte) {
    const int number =
        column_of({channel, AxisD::joined ? d.phase : 0, AxisH::joined ? h.phase : 0, AxisW::joined ? w.phase : 0});
    const int class_d = AxisD::joined ? 0 : d.phase;
    const int class_h = AxisH::joined ? 0 : h.phase;
    const int class_w = AxisW::joined ? 0 : w.phase;
    const int phase_class = (class_d * AxisH::classes + class_h) * AxisW::classes + class_w;
    const int step = ((channel_block * d.count + d.number) * h.count + h.number) * w.count + w.number;
    return packed_weights(phase_class, group, number / tile_n) + static_cast<i64>(step) * weight_stage +
           swizzled<k_operand_row>(number % tile_n * k_operand_row + byte);
}

/// The end of the taps that tap `tap` writes: the last one also writes those that joined phases add, which are zero.
template <class Axis>
__device__ constexpr int end_of_taps(int tap) {
    return tap + 1 == Axis::kernel ? Axis::padded_kernel : tap + 1;
}

/// Weights are a matrix of input channels times output channels and taps, in the order of memory: transposed, a column
/// is a row of the operand of its phase. Grid: columns, blocks of channels, groups.
__device__ __forceinline__ void pack_weights(const Element* weight, unsigned char* packed) {
    PackTile& tile = *dynamic_shared<PackTile>();
    const int channel_block = blockIdx.y;
    const int group = blockIdx.z;
    constexpr i64 width = out_group * kernel_volume;
    const i64 first_column = static_cast<i64>(blockIdx.x) * k_pack_columns;
    const Element* source = weight + (static_cast<i64>(group) * in_group + channel_block * block_channels) * width;
#pragma unroll 8
    for (int i = threadIdx.x; i < block_channels * k_pack_columns; i += k_pack_threads) {
        const int row = i / k_pack_columns;
        const i64 column = first_column + i % k_pack_columns;
        const bool inside = column < width && channel_block * block_channels + row < in_group;
        tile.values[row][i % k_pack_columns] = inside ? load_readonly(source + row * width + column) : Element{};
    }
    __syncthreads();
    constexpr int pieces = k_operand_row / 16;
    for (int i = threadIdx.x; i < k_pack_columns * pieces; i += k_pack_threads) {
        const int column = i / pieces;
        if (first_column + column >= width) break;
        const i64 place = first_column + column;
        const int channel = static_cast<int>(channels_last ? place % out_group : place / kernel_volume);
        int tap = static_cast<int>(channels_last ? place / out_group : place % kernel_volume);
        const int k_w = split_off(tap, AxisW::kernel);
        const int k_h = split_off(tap, AxisH::kernel);
        const int k_d = tap;
        const int byte = i % pieces * 16;
        Floats<4> piece = make_piece(byte, [&](int row) { return tile.values[row][column]; });
        for (int d = k_d; d < end_of_taps<AxisD>(k_d); ++d) {
            for (int h = k_h; h < end_of_taps<AxisH>(k_h); ++h) {
                for (int w = k_w; w < end_of_taps<AxisW>(k_w); ++w) {
                    const i64 row = packed_row(channel, group, channel_block, AxisD::place_of(d), AxisH::place_of(h),
                                               AxisW::place_of(w), byte);
                    store<4>(reinterpret_cast<float*>(packed + row), piece);
                    piece = {};
                }
            }
        }
    }
}

/// Bytes of one position of the packed input.
constexpr i64 packed_position = static_cast<i64>(problem::groups) * channel_blocks * k_operand_row;

/// The input as operand rows: [batch][position][group][block of channels], 128 bytes each, zeros past the group's last
/// channel. Grid: positions and batch, blocks of channels of all groups.
__device__ __forceinline__ void pack_input(const Element* input, unsigned char* packed) {
    PackTile& tile = *dynamic_shared<PackTile>();
    const int group = blockIdx.y / channel_blocks;
    const int first_channel = blockIdx.y % channel_blocks * block_channels;
    constexpr u32 entry_blocks = static_cast<u32>((input_volume + k_pack_columns - 1) / k_pack_columns);
    const i64 batch = blockIdx.x / entry_blocks;
    const i64 first_position = static_cast<i64>(blockIdx.x % entry_blocks) * k_pack_columns;
    const i64 entry = batch * problem::in_channels * input_volume;
    constexpr i64 row_step = channels_last ? 1 : input_volume;
    constexpr i64 column_step = channels_last ? problem::in_channels : 1;
    const Element* source =
        input + entry + (group * in_group + first_channel) * row_step + first_position * column_step;
#pragma unroll 8
    for (int i = threadIdx.x; i < block_channels * k_pack_columns; i += k_pack_threads) {
        const int row = channels_last ? i % block_channels : i / k_pack_columns;
        const int column = channels_last ? i / block_channels : i % k_pack_columns;
        const bool inside = first_position + column < input_volume && first_channel + row < in_group;
        tile.values[row][column] = inside ? load_readonly(source + row * row_step + column * column_step) : Element{};
    }
    __syncthreads();
    constexpr int pieces = k_operand_row / 16;
    unsigned char* target = packed + (batch * input_volume + first_position) * packed_position +
                            static_cast<i64>(blockIdx.y) * k_operand_row;
#pragma unroll
    for (int i = threadIdx.x; i < k_pack_columns * pieces; i += k_pack_threads) {
        const int column = i / pieces;
        if (first_position + column >= input_volume) break;
        const int byte = i % pieces * 16;
        store<4>(reinterpret_cast<float*>(target + column * packed_position + byte),
                 make_piece(byte, [&](int row) { return tile.values[row][column]; }));
    }
}

}  // namespace tconv::hopper
