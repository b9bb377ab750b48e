#include "kernel_sources/reference.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tconv {

std::string reference_entry(DataType type) {
    return fmt::format("tconv_reference_{}", to_string(type));
}

std::string scaled_reference_entry(DataType type) {
    return fmt::format("tconv_reference_scaled_{}", to_string(type));
}

std::vector<std::int64_t> reference_shape(const Problem& problem) {
    std::vector<std::int64_t> shape{problem.in_channels, problem.out_channels, problem.groups};
    for (const Extents& extents :
         {problem.input, output_extents(problem), problem.kernel, problem.stride, problem.padding, problem.dilation}) {
        shape.insert(shape.end(), extents.begin(), extents.end());
    }
    shape.push_back(problem.layout == Layout::nhwc ? 1 : 0);
    return shape;
}

LaunchPlan reference_plan(const Problem& problem) {
    constexpr std::int64_t block = 128;
    // A grid-stride loop covers what is left when the grid of one batch entry would be too large.
    constexpr std::int64_t max_blocks = 65536;
    const std::int64_t outputs = output_elements(problem) / std::max<std::int64_t>(problem.batch, 1);
    Launch launch;
    launch.kernel = reference_entry(problem.dtype);
    launch.grid = {std::clamp<std::int64_t>((outputs + block - 1) / block, 1, max_blocks), 1, 1};
    launch.block = {block, 1, 1};
    launch.batch_axis = problem.batch <= 32767 ? 0 : -1;
    launch.arguments = {{ArgumentKind::input, 0, {}},
                        {ArgumentKind::weight, 0, {}},
                        {ArgumentKind::bias, 0, {}},
                        {ArgumentKind::output, 0, {}},
                        {ArgumentKind::values, 0, reference_shape(problem)},
                        {ArgumentKind::batch, 0, {}}};
    LaunchPlan plan;
    plan.source_file = k_reference_file;
    plan.alignment = size_in_bytes(problem.dtype);
    plan.launches.push_back(std::move(launch));
    return plan;
}

}  // namespace tconv
