#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/launch_plan.hpp"

namespace tconv {
namespace {

constexpr std::int64_t k_max_batch_tile = 65536;
constexpr std::size_t k_max_arguments = 64;
constexpr std::size_t k_max_values = 256;  // a kernel takes 4 KiB of arguments at most; this is half of that

void check_batch(const Launch& launch) {
    if (launch.batch_axis < -1 || launch.batch_axis > 2) {
        reject(fmt::format("batch_axis ({}) must be -1, 0, 1 or 2", launch.batch_axis));
    }
    const std::int64_t most = launch.batch_axis < 0 ? 1 : k_max_batch_tile;
    if (launch.batch_tile < 1 || launch.batch_tile > most) {
        reject(fmt::format("batch_tile of {} ({}) must be 1 to {} where batch_axis is {}", launch.kernel,
                           launch.batch_tile, most, launch.batch_axis));
    }
}

void check_geometry(const Launch& launch, std::int64_t batch, const DeviceInfo& device) {
    check_batch(launch);
    std::int64_t threads = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::int64_t limit = grid_limit(axis);
        std::int64_t grid = launch.grid[axis];
        if (grid < 1 || grid > limit) {
            reject(fmt::format("grid {} of {} ({}) must be 1 to {}", "xyz"[axis], launch.kernel, grid, limit));
        }
        if (launch.batch_axis == static_cast<int>(axis) &&
            (__builtin_mul_overflow(grid, batch_tiles(std::max<std::int64_t>(batch, 1), launch.batch_tile), &grid) ||
             grid > limit)) {
            reject(fmt::format("grid {} of {} ({} for {} batch entries, batch {}) must be at most {}", "xyz"[axis],
                               launch.kernel, launch.grid[axis], launch.batch_tile, batch, limit));
        }
        const std::int64_t block_limit = axis == 2 ? 64 : 1024;
        if (launch.block[axis] < 1 || launch.block[axis] > block_limit) {
            reject(fmt::format("block {} of {} ({}) must be 1 to {}", "xyz"[axis], launch.kernel, launch.block[axis],
                               block_limit));
        }
        threads *= launch.block[axis];
    }
    if (threads > device.max_threads_per_block) {
        reject(fmt::format("threads a block of {} ({}) must be at most {} on {}", launch.kernel, threads,
                           device.max_threads_per_block, device.name));
    }
    if (launch.shared_bytes < 0 || launch.shared_bytes > device.shared_memory_per_block) {
        reject(fmt::format("shared memory of {} ({} bytes) must be at most {} on {}", launch.kernel,
                           launch.shared_bytes, device.shared_memory_per_block, device.name));
    }
}

/// Memory that a call needs beside the tensors.
struct Memory {
    std::int64_t workspace = 0;
    std::int64_t packed_weight = 0;
};

void check_offset(const Launch& launch, const char* what, std::int64_t offset, std::int64_t bytes) {
    if (offset >= 0 && offset < bytes) return;
    reject(fmt::format("{} offset of {} ({}) must lie within the {} ({} bytes)", what, launch.kernel, offset, what,
                       bytes));
}

void check_arguments(const Launch& launch, const Memory& memory) {
    if (launch.kernel.empty()) reject("a launch of the plan names no kernel");
    if (launch.arguments.empty() || launch.arguments.size() > k_max_arguments) {
        reject(fmt::format("{} ({} arguments) must take 1 to {}", launch.kernel, launch.arguments.size(),
                           k_max_arguments));
    }
    for (const Argument& argument : launch.arguments) {
        if (argument.kind == ArgumentKind::workspace)
            check_offset(launch, "workspace", argument.offset, memory.workspace);
        if (argument.kind == ArgumentKind::packed_weight)
            check_offset(launch, "packed weight", argument.offset, memory.packed_weight);
        if (argument.kind == ArgumentKind::values &&
            (argument.values.empty() || argument.values.size() > k_max_values)) {
            reject(fmt::format("values argument of {} ({} values) must hold 1 to {}", launch.kernel,
                               argument.values.size(), k_max_values));
        }
    }
}

/// What an argument refers to: a tensor map stands for the memory that it maps.
ArgumentKind memory_of(const Argument& argument) {
    return argument.kind == ArgumentKind::tensor_map ? argument.mapped : argument.kind;
}

bool takes(const Launch& launch, ArgumentKind kind) {
    return std::any_of(launch.arguments.begin(), launch.arguments.end(),
                       [&](const Argument& argument) { return memory_of(argument) == kind; });
}

MappedMemory mapped_memory(const LaunchPlan& plan, const Problem& problem, ArgumentKind kind) {
    const std::int64_t size = size_in_bytes(problem.dtype);
    const std::int64_t batch = std::max<std::int64_t>(problem.batch, 1);
    switch (kind) {
        case ArgumentKind::input:
            return {0, input_elements(problem) / batch * size};
        case ArgumentKind::output:
            return {0, output_elements(problem) / batch * size};
        case ArgumentKind::weight:
            return {weight_elements(problem) * size, 0};
        case ArgumentKind::workspace:
            return {plan.workspace_bytes, plan.workspace_batch_tile == 1 ? plan.workspace_bytes_per_batch : 0};
        case ArgumentKind::packed_weight:
            return {plan.packed_weight_bytes, 0};
        default:
            reject("a tensor map may be of input, weight, output, workspace or packed_weight alone");
    }
}

void check_tensor_maps(const LaunchPlan& plan, const Launch& launch, const Problem& problem, const DeviceInfo& device) {
    constexpr std::int64_t least_alignment = 16;
    std::size_t maps = 0;
    for (const Argument& argument : launch.arguments) {
        if (argument.kind != ArgumentKind::tensor_map) continue;
        if (++maps > k_most_tensor_maps)
            reject(fmt::format("{} must take at most {} tensor maps", launch.kernel, k_most_tensor_maps));
        if (device.kind == DeviceKind::cuda && device.compute_major < 9) {
            reject(fmt::format("tensor maps of {} need compute capability 9.0, {} has {}.{}", launch.kernel,
                               device.name, device.compute_major, device.compute_minor));
        }
        // The workspace and the packed weights are aligned to so much anyhow.
        const bool is_tensor =
            argument.mapped != ArgumentKind::workspace && argument.mapped != ArgumentKind::packed_weight;
        if (is_tensor && plan.alignment < least_alignment) {
            reject(fmt::format("alignment ({} bytes) must be at least {} where {} takes a tensor map of a tensor",
                               plan.alignment, least_alignment, launch.kernel));
        }
        if (launch.weights_only && argument.map.batch_dimension >= 0)
            reject(fmt::format("a tensor map of weights_only launch {} must not grow with the batch", launch.kernel));
        check_tensor_map(argument.map, argument.offset, mapped_memory(plan, problem, argument.mapped), problem.batch,
                         launch.kernel);
        if (const std::int64_t bytes = box_bytes(argument.map); bytes > device.shared_memory_per_block) {
            reject(fmt::format("box of {} ({} bytes) must fit into shared memory ({} bytes)", launch.kernel, bytes,
                               device.shared_memory_per_block));
        }
    }
}

void check_overlaps(const std::vector<Launch>& launches, const DeviceInfo& device) {
    for (const Launch& launch : launches) {
        if (!launch.overlaps) continue;
        if (&launch == &launches.front())
            reject(fmt::format("the first launch, {}, overlaps, but there is none before it", launch.kernel));
        if (device.kind == DeviceKind::cuda && device.compute_major < 9) {
            reject(fmt::format("{} overlaps the launch before it, which needs compute capability 9.0, not {}.{}",
                               launch.kernel, device.compute_major, device.compute_minor));
        }
    }
}

void check_cluster(const Launch& launch, const DeviceInfo& device) {
    if (launch.cluster < 1 || launch.cluster > k_most_cluster_blocks) {
        reject(fmt::format("cluster of {} ({}) must be 1 to {}", launch.kernel, launch.cluster, k_most_cluster_blocks));
    }
    if (launch.cluster == 1) return;
    // A grid that grows along x stays a multiple.
    if (launch.grid[0] % launch.cluster != 0) {
        reject(fmt::format("grid x of {} ({}) must be a multiple of its cluster ({})", launch.kernel, launch.grid[0],
                           launch.cluster));
    }
    if (device.kind == DeviceKind::cuda && device.compute_major < 9) {
        reject(fmt::format("clusters of {} need compute capability 9.0, {} has {}.{}", launch.kernel, device.name,
                           device.compute_major, device.compute_minor));
    }
}

// What is run once for many calls may depend on nothing that differs between them, and must be there before its use.
void check_weights_only(const std::vector<Launch>& launches) {
    bool packed = false;
    bool others = false;
    for (const Launch& launch : launches) {
        if (!launch.weights_only) {
            if (takes(launch, ArgumentKind::packed_weight) && !packed) {
                reject(fmt::format("{} takes packed weights, but no weights_only launch before it makes them",
                                   launch.kernel));
            }
            others = true;
            continue;
        }
        if (others) reject(fmt::format("weights_only launch {} must come before all others", launch.kernel));
        for (const ArgumentKind kind : {ArgumentKind::input, ArgumentKind::bias, ArgumentKind::output,
                                        ArgumentKind::workspace, ArgumentKind::batch}) {
            if (takes(launch, kind)) {
                reject(
                    fmt::format("weights_only launch {} may take weight, packed_weight, their tensor maps and values "
                                "alone",
                                launch.kernel));
            }
        }
        if (launch.batch_axis >= 0)
            reject(
                fmt::format("batch_axis of weights_only launch {} ({}) must be -1", launch.kernel, launch.batch_axis));
        if (!takes(launch, ArgumentKind::packed_weight))
            reject(fmt::format("weights_only launch {} must take packed_weight", launch.kernel));
        packed = true;
    }
}

void check_alignment(const LaunchPlan& plan, DataType type) {
    const std::int64_t alignment = plan.alignment;
    const std::int64_t element = size_in_bytes(type);
    const bool power_of_two = alignment > 0 && (alignment & (alignment - 1)) == 0;
    if (!power_of_two || alignment < element || alignment > k_most_alignment) {
        reject(fmt::format("alignment ({} bytes) must be a power of two from {} to {}", alignment, element,
                           k_most_alignment));
    }
}

Memory check_memory(const LaunchPlan& plan, std::int64_t batch, std::int64_t limit) {
    Memory memory;
    std::int64_t all = 0;
    if (plan.workspace_batch_tile < 1)
        reject(fmt::format("workspace_batch_tile ({}) must be at least 1", plan.workspace_batch_tile));
    const std::int64_t tiles = batch_tiles(batch, plan.workspace_batch_tile);
    if (plan.workspace_bytes < 0 || plan.workspace_bytes_per_batch < 0 ||
        __builtin_mul_overflow(plan.workspace_bytes_per_batch, tiles, &memory.workspace) ||
        __builtin_add_overflow(memory.workspace, plan.workspace_bytes, &memory.workspace) || memory.workspace > limit) {
        reject(fmt::format("workspace ({} bytes + {} a batch entry, batch {}) must be 0 to {} bytes",
                           plan.workspace_bytes, plan.workspace_bytes_per_batch, batch, limit));
    }
    memory.packed_weight = plan.packed_weight_bytes;
    if (plan.packed_weight_bytes < 0 || __builtin_add_overflow(memory.workspace, plan.packed_weight_bytes, &all) ||
        all > limit) {
        reject(fmt::format("packed weights ({} bytes, beside a workspace of {}) must be 0 to {} bytes in all",
                           plan.packed_weight_bytes, memory.workspace, limit));
    }
    return memory;
}

}  // namespace

void check_plan(const LaunchPlan& plan, const Problem& problem, const DeviceInfo& device,
                std::int64_t workspace_limit) {
    if (plan.launches.empty()) reject("launch plan has no launch");
    const Memory memory = check_memory(plan, problem.batch, workspace_limit);
    check_alignment(plan, problem.dtype);
    check_weights_only(plan.launches);
    check_overlaps(plan.launches, device);
    bool writes_output = false;
    for (const Launch& launch : plan.launches) {
        check_geometry(launch, problem.batch, device);
        check_cluster(launch, device);
        check_arguments(launch, memory);
        check_tensor_maps(plan, launch, problem, device);
        writes_output |= takes(launch, ArgumentKind::output);
    }
    if (!writes_output) reject("launch plan has no launch that takes the output");
}

}  // namespace tconv
