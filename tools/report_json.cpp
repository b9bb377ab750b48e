#include "tools/report_json.hpp"

#include <type_traits>

#include "tools/report.hpp"

namespace tconv {
namespace {

using Json = nlohmann::ordered_json;

template <class Value>
Json or_null(const std::optional<Value>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json ceilings_json(const Ceilings& ceilings) {
    Json json = Json::object();
    visit_ceilings(ceilings, [&](const char* name, double value) { json[name] = value; });
    return json;
}

Json stages_json(const StageSeconds& stages) {
    Json json = Json::object();
    visit_stages(stages, [&](const char* name, double seconds) { json[name] = seconds; });
    return json;
}

Json failures_json(const std::map<OutcomeKind, std::int64_t>& failures) {
    Json json = Json::object();
    for (const auto& [kind, count] : failures)
        json[std::string(to_string(kind))] = count;
    return json;
}

Json outcome_json(const Outcome& o) {
    return {
        {"kind", to_string(o.kind)},
        {"reason", o.reason},
        {"error",
         {{"relative", o.error.relative},
          {"absolute", o.error.absolute},
          {"worst_index", o.error.worst_index},
          {"repeat_spread", o.error.repeat_spread},
          {"distribution", o.error.distribution}}},
        {"timing",
         {{"median_milliseconds", o.timing.median},
          {"minimum_milliseconds", o.timing.minimum},
          {"spread", o.timing.spread},
          {"dropped_early", o.timing.dropped_early},
          {"remark", o.timing.remark},
          {"samples_milliseconds", o.timing.samples}}},
        {"resources",
         {{"registers", o.resources.registers},
          {"static_shared_bytes", o.resources.static_shared_bytes},
          {"local_bytes", o.resources.local_bytes},
          {"blocks_per_multiprocessor", o.resources.blocks_per_multiprocessor}}},
        {"compile_milliseconds", o.compile_milliseconds},
        {"binary_key", o.binary_key},
        {"plan", Json::parse(to_json(o.plan))},
    };
}

Json optional_trial(const std::optional<Trial>& trial) {
    return trial ? trial_json(*trial) : Json(nullptr);
}

Json front_json(const std::vector<Trial>& front) {
    Json json = Json::array();
    for (const Trial& t : front) {
        json.push_back({{"id", t.id},
                        {"milliseconds", t.outcome.timing.median},
                        {"error", t.outcome.error.relative},
                        {"strict", t.strict},
                        {"family", t.template_name},
                        {"config", t.config}});
    }
    return json;
}

}  // namespace

Json problem_json(const Problem& problem) {
    Json json = Json::object();
    visit_fields(problem, [&](const char* name, const auto& value) {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, Extents>) {
            json[name] = std::vector<std::int64_t>(value.end() - problem.spatial_axes, value.end());
        } else if constexpr (std::is_enum_v<Value>) {
            json[name] = to_string(value);
        } else {
            json[name] = value;
        }
    });
    json["key"] = key(problem);
    return json;
}

Json trial_json(const Trial& t) {
    return {
        {"id", t.id},
        {"family", t.template_name},
        {"template_hash", t.template_hash},
        {"config", t.config},
        {"strict", t.strict},
        {"outcome", outcome_json(t.outcome)},
        {"driver_version", t.driver_version},
        {"compiler_version", t.compiler_version},
        {"created", t.created},
    };
}

Json result_json(const TuneResult& r) {
    return {
        {"name", r.problem_name},
        {"problem", problem_json(r.problem)},
        {"device", r.device},
        {"emulated", r.emulated},
        {"tolerance", r.tolerance},
        {"strict", r.strict},
        {"winner", optional_trial(r.winner)},
        {"runner_up", optional_trial(r.runner_up)},
        {"front", front_json(r.front)},
        {"reference_milliseconds", or_null(r.reference_milliseconds)},
        {"speed_up", r.winner && r.reference_milliseconds
                         ? Json(*r.reference_milliseconds / r.winner->outcome.timing.median)
                         : Json(nullptr)},
        {"limit_milliseconds", r.limit_milliseconds},
        {"share_of_limit", r.winner ? Json(share_of_limit(r)) : Json(nullptr)},
        {"ceilings", ceilings_json(r.ceilings)},
        {"trials_measured", r.trials_measured},
        {"trials_former", r.trials_former},
        {"trials_reused", r.trials_reused},
        {"failures", failures_json(r.failures)},
        {"seconds", r.seconds},
        {"device_busy_seconds", r.device_busy_seconds},
        {"stage_seconds", stages_json(r.stages)},
        {"interrupted", r.interrupted},
        {"warnings", r.warnings},
    };
}

std::string dump_json(const Json& document) {
    return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tconv
