#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config.hpp"
#include "device_info.hpp"
#include "problem.hpp"
#include "tensor_map.hpp"

namespace tconv {

/// What one kernel argument is. Pointers are passed as 64-bit addresses.
enum class ArgumentKind {
    input,
    weight,
    bias,  ///< a null pointer where the problem has none
    output,
    workspace,      ///< workspace address + `offset`
    batch,          ///< the batch of the call, as a 32-bit signed integer
    values,         ///< `values` as one by-value struct of 64-bit signed integers
    packed_weight,  ///< address of the packed weights + `offset`
    tensor_map,     ///< `map` of `mapped` + `offset`, by value: 128 bytes, aligned to as many
};

/// Its name in stored plans and in search spaces.
[[nodiscard]] std::string_view to_string(ArgumentKind kind);
/// The reverse; nothing where no kind has the name.
[[nodiscard]] std::optional<ArgumentKind> argument_kind_named(std::string_view name);

struct Argument {
    ArgumentKind kind = ArgumentKind::input;
    std::int64_t offset = 0;           ///< bytes, of workspace, packed_weight and tensor_map
    std::vector<std::int64_t> values;  ///< values only
    TensorMap map{};                   ///< tensor_map only
    /// tensor_map only: input, weight, output, workspace or packed_weight.
    ArgumentKind mapped = ArgumentKind::input;
    friend bool operator==(const Argument&, const Argument&) = default;
};

/// One kernel launch. The grid is that of `batch_tile` batch entries; `batch_axis` is multiplied by the batch of the
/// call in such tiles, the last of which may be ragged: the kernel takes the batch as an argument and guards the end
/// itself.
struct Launch {
    std::string kernel;  ///< entry name in the binary
    std::array<std::int64_t, 3> grid{1, 1, 1};
    std::array<std::int64_t, 3> block{1, 1, 1};
    int batch_axis = 0;             ///< 0, 1, 2, or -1: the grid does not depend on the batch
    std::int64_t batch_tile = 1;    ///< batch entries that one extent of the grid covers; 1 where `batch_axis` is -1
    std::int64_t shared_bytes = 0;  ///< dynamic shared memory
    /// Reads the weight alone and writes the packed weights alone, whatever the batch: where these are kept between
    /// calls, it runs once. All such launches come before the others, which only read the packed weights.
    bool weights_only = false;
    /// May start before the launch before it in the same call has ended: the kernel itself waits for that where it
    /// must. Not for a plan's first launch.
    bool overlaps = false;
    /// Blocks that run at the same time and share their shared memory: neighbours along x.
    std::int64_t cluster = 1;
    std::vector<Argument> arguments;
    friend bool operator==(const Launch&, const Launch&) = default;
};

/// What a plan asks of the tensors' addresses where nothing says otherwise: that of the widest vector access.
inline constexpr std::int64_t k_default_alignment = 16;
/// The most that a plan may ask for.
inline constexpr std::int64_t k_most_alignment = 256;

/// Blocks of a cluster that every device with clusters has room for.
inline constexpr std::int64_t k_most_cluster_blocks = 8;

/// Tensor maps that a launch may take.
inline constexpr std::size_t k_most_tensor_maps = 8;

/// Everything needed to run a tuned kernel besides its binary. The runtime replays it and knows no kernel family.
struct LaunchPlan {
    std::string source_file;           ///< template that the binary was made from: "direct.cu"
    Config constants;                  ///< derived quantities that its prelude holds besides the config
    std::vector<Launch> launches;      ///< in order
    std::int64_t workspace_bytes = 0;  ///< fixed part
    /// Added for each `workspace_batch_tile` batch entries or part of them.
    std::int64_t workspace_bytes_per_batch = 0;
    std::int64_t workspace_batch_tile = 1;
    std::int64_t packed_weight_bytes = 0;  ///< what the weights_only launches write
    /// Bytes that every tensor's address must be a multiple of: a power of two, at least the element's size. The
    /// addresses of the workspace and of the packed weights are multiples of `workspace_alignment`.
    std::int64_t alignment = k_default_alignment;
    /// Sums of small integers come out exact, rounded once. Not so where inputs are transformed by fractions.
    bool exact_on_integers = true;
    friend bool operator==(const LaunchPlan&, const LaunchPlan&) = default;
};

[[nodiscard]] std::string to_json(const LaunchPlan& plan);

/// The reverse; throws Error(bad_input) on anything malformed. A text without `alignment`, as older versions wrote it,
/// asks for k_default_alignment; one without batch tiles or packed weights has none.
[[nodiscard]] LaunchPlan launch_plan_from_json(const std::string& text);

/// Checks a plan against its problem and device: geometry and clusters within the device's limits, shared memory,
/// workspace and packed weights within `workspace_limit` bytes and every offset inside them, tensor maps (inside what
/// they map), argument kinds and counts, alignment, what a weights_only launch takes. Throws Error(bad_input) naming
/// the first rule broken. A plan that came from a database passes here before any launch.
void check_plan(const LaunchPlan& plan, const Problem& problem, const DeviceInfo& device,
                std::int64_t workspace_limit = std::int64_t{1} << 30);

/// Entry names of the plan's launches, each once, in order.
[[nodiscard]] std::vector<std::string> kernel_names(const LaunchPlan& plan);

/// Blocks that CUDA allows along an axis of a grid (0: x).
[[nodiscard]] std::int64_t grid_limit(std::size_t axis);

/// Tiles of `tile` entries that cover `batch` entries.
[[nodiscard]] std::int64_t batch_tiles(std::int64_t batch, std::int64_t tile);

/// Grid of `launch` for a call with `batch` entries.
[[nodiscard]] std::array<std::int64_t, 3> grid_for(const Launch& launch, std::int64_t batch);

/// Workspace in bytes for a call with `batch` entries.
[[nodiscard]] std::int64_t workspace_for(const LaunchPlan& plan, std::int64_t batch);

/// Bytes that the addresses of a call's workspace and packed weights are multiples of: the plan's alignment, and no
/// less than k_default_alignment, since they are allocated for the plan.
[[nodiscard]] std::int64_t workspace_alignment(const LaunchPlan& plan);

/// True where the grids and tensor maps of a call with `batch` entries are within the limits of CUDA.
[[nodiscard]] bool serves_batch(const LaunchPlan& plan, std::int64_t batch);

}  // namespace tconv
