#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/config.hpp"
#include "core/device_info.hpp"
#include "core/launch_plan.hpp"
#include "core/problem.hpp"
#include "tuner/demand.hpp"

namespace tconv {

/// A tunable parameter and the values that it may take, in the order of the file: neighbours in the list are neighbours
/// in the search.
struct Parameter {
    std::string name;
    std::vector<std::int64_t> values;
    std::string description;
    std::optional<std::int64_t> former = std::nullopt;  ///< what configs from before the parameter existed stand for
};

/// One kernel family as its YAML file describes it: parameters, constraints, derived quantities and launch geometry as
/// expressions over problem.*, device.*, the parameters and the derived quantities. Where a function takes a Demand,
/// only configs that meet it count as valid.
class SearchSpace {
public:
    /// Parses and checks a whole file: unknown names, bad expressions, duplicates, missing keys. Throws
    /// Error(bad_input) as "FILE:LINE: sentence".
    [[nodiscard]] static SearchSpace parse(const std::string& text, const std::string& file);

    SearchSpace(SearchSpace&&) noexcept;
    SearchSpace& operator=(SearchSpace&&) noexcept;
    ~SearchSpace();

    [[nodiscard]] const std::string& name() const;           ///< family: "direct"
    [[nodiscard]] const std::string& template_file() const;  ///< "direct.cu"
    [[nodiscard]] const std::string& description() const;
    [[nodiscard]] const std::vector<Parameter>& parameters() const;

    /// Empty when the family takes this problem on this device; else the rule that excludes it, in words.
    [[nodiscard]] std::string refusal(const Problem& problem, const DeviceInfo& device) const;

    /// Every valid config, in lexicographic order of the parameters' values. A constraint is tested as soon as its
    /// names are bound, so a branch that breaks one is never entered. Stops when `visit` returns false.
    void enumerate(const Problem& problem, const DeviceInfo& device,
                   const std::function<bool(const Config&)>& visit) const;

    /// A valid config drawn at random that `accept` takes; nothing when there is none. Values are drawn parameter by
    /// parameter, backing out of branches that hold no such config, so it works on spaces too large to enumerate. It is
    /// not uniform over the configs: each value of an early parameter is about as likely as the others. `below(n)` is a
    /// draw from [0, n). A branch without a config that meets the demand is left as one that breaks a constraint is.
    [[nodiscard]] std::optional<Config> draw(const Problem& problem, const DeviceInfo& device,
                                             const std::function<std::uint64_t(std::uint64_t)>& below,
                                             const std::function<bool(const Config&)>& accept,
                                             const Demand& demand = {}) const;

    /// Empty when the config is valid; else the first rule that it breaks, in words.
    [[nodiscard]] std::string violation(const Problem& problem, const DeviceInfo& device, const Config& config,
                                        const Demand& demand = {}) const;

    /// The file's defaults that are valid here: where a search starts. In the file's order, but for those that take
    /// more than twice as long to compile as another: they come after it. Someone chose them, so that the longest
    /// compile time of a demand is no matter here.
    [[nodiscard]] std::vector<Config> defaults(const Problem& problem, const DeviceInfo& device,
                                               const Demand& demand = {}) const;

    /// What the file says of a config before it is built. Throws Error(bad_input) when it is not valid.
    [[nodiscard]] Expectation expectation(const Problem& problem, const DeviceInfo& device, const Config& config) const;

    /// Whether the file guesses the times of its configs.
    [[nodiscard]] bool guesses_times() const;

    /// Valid configs that differ from `config` in one parameter by one step of its list, in a fixed order.
    [[nodiscard]] std::vector<Config> neighbours(const Problem& problem, const DeviceInfo& device, const Config& config,
                                                 const Demand& demand = {}) const;

    /// What to launch for a valid config: kernel, geometry, shared memory, arguments, workspace. Throws
    /// Error(bad_input) when it is not valid.
    [[nodiscard]] LaunchPlan plan(const Problem& problem, const DeviceInfo& device, const Config& config) const;

    /// The derived quantities of a valid config that the file marks as constants for the kernel, to be put in its
    /// prelude with the parameters.
    [[nodiscard]] Config kernel_constants(const Problem& problem, const DeviceInfo& device, const Config& config) const;

private:
    struct Impl;
    explicit SearchSpace(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// All families: those embedded in the binary, or every *.yaml of the folder TCONV_SEARCH_SPACES where that is set; by
/// name. Throws Error(bad_input) when one is faulty or two share a name.
[[nodiscard]] std::vector<SearchSpace> load_search_spaces();

}  // namespace tconv
