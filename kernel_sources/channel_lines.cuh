// What launches that transpose read: a few columns of some channels, of a tensor in which the columns of a channel lie
// together.
#pragma once

#include "element_vectors.cuh"

namespace tconv {

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

/// `Columns` columns from `source` on, of the first `present` of `Channels` channels, `pitch` elements apart; the
/// others are zero.
template <int Channels, int Columns>
struct ChannelLines {
    Vector<Columns> lines[Channels];
    __device__ __forceinline__ ChannelLines(const Element* source, i64 pitch, int present) {
#pragma unroll
        for (int i = 0; i < Channels; ++i) {
            lines[i] = {};
            load_if<Columns>(i < present, lines[i], source + i * pitch);
        }
    }
    __device__ __forceinline__ auto at(int channel, int column) const {
        return lane_of(lines[channel], column);
    }
};

}  // namespace tconv
