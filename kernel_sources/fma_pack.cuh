// How the fma family packs the weights of a tap and step, in fp32: [warp][vector][lane along the columns][word], where
// a lane's words are [channel][column].
#pragma once

#include "fma_compute.cuh"

namespace tconv::product {

/// A part is one word, of one element.
constexpr int pack_parts = tap_words;
constexpr int pack_elements = 1;

/// Number of a word among those of its lane.
__device__ __forceinline__ int lane_word(int part) {
    const int word = part % warp_words;
    return word / (column_lanes * weight_vector) * weight_vector + word % weight_vector;
}

__device__ __forceinline__ int pack_column(int part) {
    const int lane = part / weight_vector % column_lanes;
    const int column = lane_word(part) % lane_columns;
    return (part / warp_words * n_fragments + column / fragment_sums) * fragment_columns + lane * fragment_sums +
           column % fragment_sums;
}

/// Channel of the step that a part has.
__device__ __forceinline__ int pack_channel(int part, int /*element*/) {
    return lane_word(part) / lane_columns;
}

/// `weight` gives the part's element.
template <class WeightOf>
__device__ __forceinline__ void pack_part(u32* tap, int part, const WeightOf& weight, bool /*alone*/) {
    tap[part] = __float_as_uint(to_float(weight(0, 0)));
}

}  // namespace tconv::product
