// Accumulators to the output: bias added, rounded once, through shared memory so that whole vectors and lines are
// written.
#pragma once

#include "hopper_store_channels.cuh"
#include "hopper_store_rows.cuh"
#include "hopper_store_runs.cuh"

namespace tconv::hopper {

template <bool ChannelsLast, bool Runs>
struct StoreOf {
    using type = StoreFirst;
};
template <>
struct StoreOf<true, false> {
    using type = StoreLast;
};
template <>
struct StoreOf<true, true> {
    using type = StoreRuns;
};
using Store = StoreOf<channels_last, StoreRuns::used>::type;

}  // namespace tconv::hopper
