// Accumulators to the output: bias added, rounded once, through shared memory so that whole vectors and lines are
// written.
#pragma once

#include "hopper_store_channels.cuh"
#include "hopper_store_rows.cuh"

namespace tconv::hopper {

template <bool ChannelsLast>
struct StoreOf {
    using type = StoreFirst;
};
template <>
struct StoreOf<true> {
    using type = StoreLast;
};
using Store = StoreOf<channels_last>::type;

}  // namespace tconv::hopper
