// What stands between tensors of one memory order and a library that works in another: transposition of matrices, and
// the addition of a bias. All of it is bound by memory. Any launch geometry of 256 threads a block serves the
// transposition, any at all the addition.
#include "grid.cuh"
#include "tconv.cuh"

namespace tconv::layout {

constexpr int k_threads = 256;
/// Matrices with fewer rows or columns are moved element by element: most of a tile would lie outside.
constexpr i64 k_narrow = 8;
constexpr i64 k_most_32_bit = 0x7fffffff;

/// A matrix with few rows or few columns. Threads follow the long side of the narrower order, so that both reads and
/// writes of a warp fall into few lines.
template <class T, class Index>
__device__ void transpose_narrow(const T* source, T* target, Index count, Index rows, Index columns) {
    const Index area = rows * columns;
    const bool few_rows = rows <= columns;
    const Index inner = few_rows ? rows : columns;
    const Index outer_step = few_rows ? columns : rows;
    for (Index i = static_cast<Index>(thread_index()); i < count; i += static_cast<Index>(thread_count())) {
        const Index place = i % area;
        const Index other = i - place + place % inner * outer_step + place / inner;
        target[few_rows ? i : other] = source[few_rows ? other : i];
    }
}

/// Moves TILE x TILE elements at a time through shared memory: rows are read and written whole.
template <class T, int TILE, int PAD>
__device__ void transpose_tiles(const T* source, T* target, i64 batch, i64 rows, i64 columns) {
    __shared__ T tile[TILE][TILE + PAD];
    const int x = static_cast<int>(threadIdx.x) % TILE;
    const int first_y = static_cast<int>(threadIdx.x) / TILE;
    constexpr int step_y = k_threads / TILE;
    const i64 tile_columns = (columns + TILE - 1) / TILE;
    const i64 tiles = (rows + TILE - 1) / TILE * tile_columns;
    for (i64 index = blockIdx.x; index < batch * tiles; index += gridDim.x) {
        const i64 matrix = index / tiles * rows * columns;
        const i64 row = index % tiles / tile_columns * TILE;
        const i64 column = index % tile_columns * TILE;
#pragma unroll
        for (int y = first_y; y < TILE; y += step_y) {
            if (row + y < rows && column + x < columns) tile[y][x] = source[matrix + (row + y) * columns + column + x];
        }
        __syncthreads();
#pragma unroll
        for (int y = first_y; y < TILE; y += step_y) {
            if (column + y < columns && row + x < rows) target[matrix + (column + y) * rows + row + x] = tile[x][y];
        }
        __syncthreads();
    }
}

template <class T, int TILE, int PAD>
__device__ void transpose(const T* source, T* target, i64 batch, i64 rows, i64 columns) {
    if (rows >= k_narrow && columns >= k_narrow) {
        transpose_tiles<T, TILE, PAD>(source, target, batch, rows, columns);
    } else if (const i64 count = batch * rows * columns; count + thread_count() <= k_most_32_bit) {
        transpose_narrow(source, target, static_cast<u32>(count), static_cast<u32>(rows), static_cast<u32>(columns));
    } else {
        transpose_narrow(source, target, count, rows, columns);
    }
}

/// The nearest value of T, ties to even.
template <class T>
__device__ T round_to(float value);
template <>
__device__ __forceinline__ float round_to<float>(float value) {
    return value;
}
template <>
__device__ __forceinline__ bf16 round_to<bf16>(float value) {
    const u32 bits = __float_as_uint(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return bf16{static_cast<u16>(bits >> 16 | 0x40u)};
    return bf16{static_cast<u16>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}
template <>
__device__ __forceinline__ f16 round_to<f16>(float value) {
    const u32 bits = __float_as_uint(value);
    const u32 sign = bits >> 16 & 0x8000u;
    const u32 size = bits & 0x7fffffffu;
    u32 result;
    if (size >= 0x47800000u) {
        result = size > 0x7f800000u ? 0x7e00u : 0x7c00u;  // 2^16 or more, or NaN
    } else if (size < 0x38800000u) {
        // Below 2^-14 the fixed grid of 2^-24 is the last bit of a float near 1/2: the addition rounds.
        result = __float_as_uint(__uint_as_float(size) + 0.5f) - 0x3f000000u;
    } else {
        result = (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13;
    }
    return f16{static_cast<u16>(sign | result)};
}

/// 16 bytes as elements of T.
template <class T>
struct Vector {
    static constexpr int size = 16 / static_cast<int>(sizeof(T));
    Floats<4> words;

    __device__ __forceinline__ T get(int i) const {
        if constexpr (sizeof(T) == 4) {
            return words.v[i];
        } else {
            return T{static_cast<u16>(__float_as_uint(words.v[i / 2]) >> (i % 2 * 16))};
        }
    }
    __device__ __forceinline__ void set(int i, T value) {
        if constexpr (sizeof(T) == 4) {
            words.v[i] = value;
        } else {
            const u32 others = __float_as_uint(words.v[i / 2]) & (i % 2 == 0 ? 0xffff0000u : 0xffffu);
            words.v[i / 2] = __uint_as_float(others | static_cast<u32>(value.bits) << (i % 2 * 16));
        }
    }
};

template <class T, class Index>
__device__ void add_bias_singly(T* data, const T* bias, Index count, Index channels, Index repeat) {
    for (Index i = static_cast<Index>(thread_index()); i < count; i += static_cast<Index>(thread_count()))
        data[i] = round_to<T>(to_float(data[i]) + to_float(load_readonly(bias + i / repeat % channels)));
}

/// Vectors that lie within one channel, or hold one element of each of several.
template <class T, class Index>
__device__ void add_bias_in_vectors(T* data, const T* bias, Index count, Index channels, Index repeat) {
    constexpr Index size = Vector<T>::size;
    for (Index i = static_cast<Index>(thread_index()); i < count / size; i += static_cast<Index>(thread_count())) {
        float* address = reinterpret_cast<float*>(data + i * size);
        const T* first = bias + i * size / repeat % channels;
        Vector<T> vector{load<4>(address)};
        const float common = to_float(load_readonly(first));
#pragma unroll
        for (int j = 0; j < Vector<T>::size; ++j) {
            const float offset = repeat > 1 ? common : to_float(load_readonly(first + j));
            vector.set(j, round_to<T>(to_float(vector.get(j)) + offset));
        }
        store<4>(address, vector.words);
    }
}

template <class T, class Index>
__device__ void add_bias_indexed(T* data, const T* bias, Index count, Index channels, Index repeat) {
    const Index within = repeat > 1 ? repeat : channels;
    if (within % Vector<T>::size == 0 && reinterpret_cast<u64>(data) % 16 == 0) {
        add_bias_in_vectors(data, bias, count, channels, repeat);
    } else {
        add_bias_singly(data, bias, count, channels, repeat);
    }
}

template <class T>
__device__ void add_bias(T* data, const T* bias, i64 count, i64 channels, i64 repeat) {
    if (count + thread_count() <= k_most_32_bit) {
        add_bias_indexed(data, bias, static_cast<u32>(count), static_cast<u32>(channels), static_cast<u32>(repeat));
    } else {
        add_bias_indexed(data, bias, count, channels, repeat);
    }
}

}  // namespace tconv::layout

/// [batch][rows][columns] to [batch][columns][rows], elements of 2 or 4 bytes.
extern "C" __global__ void tconv_transpose_2(const tconv::u16* source, tconv::u16* target, tconv::i64 batch,
                                             tconv::i64 rows, tconv::i64 columns) {
    tconv::layout::transpose<tconv::u16, 64, 2>(source, target, batch, rows, columns);
}
extern "C" __global__ void tconv_transpose_4(const tconv::u32* source, tconv::u32* target, tconv::i64 batch,
                                             tconv::i64 rows, tconv::i64 columns) {
    tconv::layout::transpose<tconv::u32, 32, 1>(source, target, batch, rows, columns);
}

/// Adds bias[i / repeat % channels] to element i.
extern "C" __global__ void tconv_add_bias_f32(float* data, const float* bias, tconv::i64 count, tconv::i64 channels,
                                              tconv::i64 repeat) {
    tconv::layout::add_bias(data, bias, count, channels, repeat);
}
extern "C" __global__ void tconv_add_bias_f16(tconv::f16* data, const tconv::f16* bias, tconv::i64 count,
                                              tconv::i64 channels, tconv::i64 repeat) {
    tconv::layout::add_bias(data, bias, count, channels, repeat);
}
extern "C" __global__ void tconv_add_bias_bf16(tconv::bf16* data, const tconv::bf16* bias, tconv::i64 count,
                                               tconv::i64 channels, tconv::i64 repeat) {
    tconv::layout::add_bias(data, bias, count, channels, repeat);
}
