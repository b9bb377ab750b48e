#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tuner/demand.hpp"
#include "tuner/expression.hpp"
#include "tuner/space_definition.hpp"

namespace tconv {

/// A search space with its expressions compiled for one problem and device. Holds the values of one config at a time,
/// and works out only what depends on parameters that have changed since the last one, so that neighbours cost little.
/// What the guessed time or the launch plan alone needs waits until somebody asks for that.
class Binding {
public:
    /// `space` and `schedule` outlive the object.
    Binding(const SpaceDefinition& space, const Schedule& schedule, const Problem& problem, const DeviceInfo& device);
    Binding(const Binding&) = delete;
    Binding& operator=(const Binding&) = delete;

    [[nodiscard]] bool is_for(const Problem& problem, const DeviceInfo& device) const {
        return problem_ == problem && device_ == device;
    }

    /// What walk, draw and bind ask of a config beside its rules, from now on.
    void demand(const Demand& demand) { demand_ = demand; }

    /// First rule of `applies` that fails, in words; empty when the family applies.
    [[nodiscard]] const std::string& refusal() const { return refusal_; }

    /// Visits valid configs in order until `visit` returns false or `node_limit` values were assigned on the way.
    void walk(const std::function<bool(const Config&)>& visit, std::int64_t node_limit);

    /// See SearchSpace::draw.
    [[nodiscard]] std::optional<Config> draw(const std::function<std::uint64_t(std::uint64_t)>& below,
                                             const std::function<bool(const Config&)>& accept);

    /// Binds every parameter to the config's value. Returns the first rule that it breaks, in words; empty when valid.
    [[nodiscard]] std::string bind(const Config& config);

    /// Of the config bound last.
    [[nodiscard]] LaunchPlan plan();
    [[nodiscard]] Expectation expectation();

private:
    struct Bound {
        const Formula* formula;
        Expression expression;
    };

    /// A set of parameters, one bit each; those beyond the last bit share it.
    using Parameters = std::uint64_t;
    static constexpr Parameters k_all = ~Parameters{0};
    static constexpr std::size_t k_bits = 64;
    [[nodiscard]] static Parameters bit_of(std::size_t parameter) {
        return Parameters{1} << std::min(parameter, k_bits - 1);
    }

    /// A derived quantity or a rule, and the parameters that it depends on, by itself or through others.
    struct Step {
        ScheduleStep what;
        Parameters depends;
    };
    /// Steps in an order in which they can be taken, and the parameters that have changed since they were.
    struct Lot {
        std::vector<Step> steps;
        Parameters changed = k_all;
    };

    struct BoundMap {
        std::vector<Bound> extents;
        std::vector<Bound> strides;
        std::vector<Bound> box;
        Bound swizzle;
        Bound batch_dimension;
        Bound l2_promotion;
    };
    struct BoundArgument {
        std::optional<Bound> offset;
        std::vector<Bound> values;
        std::optional<BoundMap> map;
    };
    struct BoundLaunch {
        std::vector<Bound> grid;
        std::vector<Bound> block;
        Bound when;
        Bound batch_tile;
        Bound overlaps;
        Bound cluster;
        Bound shared_bytes;
        Bound alignment;
        std::vector<BoundArgument> arguments;
    };

    [[nodiscard]] Bound compile(const Formula& formula) const;
    [[nodiscard]] std::vector<Bound> compile(const std::vector<Formula>& formulas) const;
    [[nodiscard]] BoundMap compile(const MapDefinition& map) const;
    [[nodiscard]] BoundLaunch compile(const LaunchDefinition& launch) const;
    [[nodiscard]] std::int64_t integer(const Bound& bound) const;
    [[nodiscard]] std::int64_t integer_from(const Bound& bound, std::int64_t least, const std::string& what) const;
    [[nodiscard]] bool truth(const Bound& bound) const;
    [[nodiscard]] double real_from_zero(const Bound& bound, const std::string& what) const;
    void compile_derived();
    void compile_rest();
    void order_steps();
    [[nodiscard]] std::vector<bool> needed_by(std::vector<const Bound*> open) const;
    [[nodiscard]] Parameters parameters_of(const Bound& bound, const std::vector<Parameters>& of_derived) const;
    [[nodiscard]] const Bound& bound_of(const ScheduleStep& step) const;
    [[nodiscard]] bool always_holds(const ScheduleStep& step);
    [[nodiscard]] double& derived_value(std::size_t index) { return values_[space_.parameters.size() + index]; }

    void change(std::size_t parameter, std::int64_t value);
    void settle(Lot& lot);
    void forget() { rules_.changed = guess_.changed = plan_.changed = k_all; }
    [[nodiscard]] bool take_values(const Config& config);
    [[nodiscard]] std::string mismatch(const Config& config) const;
    [[nodiscard]] const ScheduleStep* broken_rule();
    [[nodiscard]] bool holds(const ScheduleStep& step);
    [[nodiscard]] const Step* evaluate_level(std::size_t level);
    [[nodiscard]] Config constants();
    [[nodiscard]] std::string describe_broken(const ScheduleStep& step) const;
    [[nodiscard]] const Step* enter(std::size_t level, std::int64_t value);
    [[nodiscard]] bool descend(std::size_t level, const std::function<bool(const Config&)>& visit);
    [[nodiscard]] std::optional<Parameters> descend_at_random(std::size_t level,
                                                              const std::function<std::uint64_t(std::uint64_t)>& below,
                                                              const std::function<bool(const Config&)>& accept);
    [[nodiscard]] std::vector<std::int64_t> integers(const std::vector<Bound>& list) const;
    [[nodiscard]] TensorMap tensor_map(const MapDefinition& definition, const BoundMap& bound) const;
    [[nodiscard]] Argument argument(const ArgumentDefinition& definition, const BoundArgument& bound) const;
    [[nodiscard]] Launch launch(std::size_t index) const;
    [[nodiscard]] std::int64_t alignment(const Bound& bound) const;

    const SpaceDefinition& space_;
    const Schedule& schedule_;
    Problem problem_;
    DeviceInfo device_;
    std::string refusal_;

    std::map<std::string, double> constants_;   // given names
    std::map<std::string, double*> variables_;  // parameters and derived quantities
    std::vector<double> values_;                // of the parameters, then of the derived quantities
    std::vector<std::optional<Bound>> derived_;
    std::vector<Bound> constraints_;
    std::vector<BoundLaunch> launches_;
    std::optional<Bound> workspace_;
    std::optional<Bound> error_;
    std::optional<Bound> strict_;
    std::optional<Bound> compile_seconds_;
    std::optional<Bound> time_;
    std::optional<Bound> workspace_per_batch_;
    std::optional<Bound> workspace_batch_tile_;
    std::optional<Bound> packed_weight_;
    std::optional<Bound> exact_on_integers_;

    std::vector<std::vector<Step>> levels_;  // what judges a config, by the parameters that must be known
    Lot rules_;                              // the same in one list, without the demand
    Lot guess_;                              // what the guessed time needs beside
    Lot plan_;                               // and what the launch plan does
    std::vector<ScheduleStep> demands_;
    std::vector<std::size_t> by_name_;  // the parameters in the order of a config

    Demand demand_;
    Config config_;                         // the config of the walk
    std::vector<std::int64_t*> in_config_;  // its values in the order of the parameters
    std::int64_t nodes_left_ = 0;
};

/// A broken rule in words: its reason, else the rule itself.
[[nodiscard]] std::string describe(const Rule& rule);

}  // namespace tconv
