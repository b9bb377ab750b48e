#include "device/emulator/launch_check.hpp"

#include <fmt/format.h>

#include <array>

#include "core/error.hpp"
#include "core/launch_plan.hpp"

namespace tconv::emulator {
namespace {

constexpr std::array<std::int64_t, 3> k_grid_limits{2147483647, 65535, 65535};
constexpr std::array<std::int64_t, 3> k_block_limits{1024, 1024, 64};
constexpr std::int64_t k_static_shared_limit = 49152;  // of every architecture; more has to be dynamic

void check_extents(const std::string& kernel, const char* what, const std::array<std::int64_t, 3>& extents,
                   const std::array<std::int64_t, 3>& limits) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (extents[axis] >= 1 && extents[axis] <= limits[axis]) continue;
        throw Error(ErrorKind::device, fmt::format("kernel {}: {} extent {} is {}, it must be from 1 to {}", kernel,
                                                   what, "xyz"[axis], extents[axis], limits[axis]));
    }
}

}  // namespace

void check_launch(const std::string& kernel, const LaunchGeometry& geometry, std::int64_t static_shared_bytes,
                  const EmulatorOptions& options) {
    check_extents(kernel, "grid", geometry.grid, k_grid_limits);
    check_extents(kernel, "block", geometry.block, k_block_limits);
    const std::int64_t threads = geometry.block[0] * geometry.block[1] * geometry.block[2];
    if (threads > options.max_threads_per_block) {
        throw Error(ErrorKind::device, fmt::format("kernel {}: a block has {} threads, the limit is {}", kernel,
                                                   threads, options.max_threads_per_block));
    }
    if (static_shared_bytes > k_static_shared_limit) {
        throw Error(ErrorKind::device, fmt::format("kernel {}: static shared memory takes {} bytes, the limit is {}",
                                                   kernel, static_shared_bytes, k_static_shared_limit));
    }
    if (geometry.cluster < 1 || geometry.cluster > k_most_cluster_blocks || geometry.grid[0] % geometry.cluster != 0) {
        throw Error(
            ErrorKind::device,
            fmt::format("kernel {}: a cluster of {} blocks must have 1 to {} and divide the grid's extent x, {}",
                        kernel, geometry.cluster, k_most_cluster_blocks, geometry.grid[0]));
    }
    const std::int64_t room = options.shared_memory_per_block - static_shared_bytes;
    if (geometry.shared_bytes < 0 || geometry.shared_bytes > room) {
        throw Error(
            ErrorKind::device,
            fmt::format("kernel {}: a block needs {} bytes of dynamic and {} bytes of static shared memory, the "
                        "limit is {} together",
                        kernel, geometry.shared_bytes, static_shared_bytes, options.shared_memory_per_block));
    }
}

}  // namespace tconv::emulator
