#include "bench/run_json.hpp"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cache/file.hpp"
#include "core/error.hpp"

namespace tconv {
namespace {

using Json = nlohmann::ordered_json;

// Format 1 had no mode `strict`: what it called fp32 was that.
constexpr int k_format = 2;
constexpr int k_oldest_format = 1;
constexpr const char* k_weights_prepared = "prepared";
constexpr const char* k_weights_each_call = "each-call";

Json contestant_json(const std::optional<Contestant>& side, bool peer) {
    if (!side) return nullptr;
    Json json{{"description", side->description},
              {"milliseconds", side->timing.median},
              {"minimum", side->timing.minimum},
              {"spread", side->timing.spread},
              {"error", side->error},
              {"workspace_bytes", side->workspace_bytes}};
    if (peer) {
        json["offered"] = side->offered;
        json["failed"] = side->failed;
        json["refused"] = side->refused;
    } else {
        json["family"] = side->description;
        json["rung"] = side->rung;
        json["config"] = side->config;
    }
    json["samples"] = side->timing.samples;
    return json;
}

Json conditions_json(const GpuConditions& c) {
    if (!c.available) return {{"available", false}, {"reason", c.reason}};
    Json json{{"available", true}};
    visit_conditions(c, [&](const char* name, const auto& value) { json[name] = value; });
    return json;
}

Json result_json(const BenchResult& r) {
    return {{"layer", r.layer},
            {"group", r.group},
            {"problem", key(r.problem)},
            {"mode", to_string(r.mode)},
            {"layout", to_string(r.problem.layout)},
            {"tolerance", r.tolerance},
            {"limit_milliseconds", r.limit_milliseconds},
            {"tconv", contestant_json(r.ours, false)},
            {"tconv_reason", r.ours_reason},
            {"peer", contestant_json(r.peer, true)},
            {"peer_reason", r.peer_reason},
            {"conditions",
             {{"before", conditions_json(r.before)}, {"after", conditions_json(r.after)}, {"warnings", r.warnings}}}};
}

/// Absent and null members keep the default: a run may come from a version that knew less.
template <class Value>
void take(const Json& json, const char* name, Value& value) {
    const auto found = json.find(name);
    if (found != json.end() && !found->is_null()) found->get_to(value);
}

std::optional<Contestant> contestant_of(const Json& json) {
    if (json.is_null()) return std::nullopt;
    Contestant side;
    take(json, "description", side.description);
    take(json, "error", side.error);
    take(json, "rung", side.rung);
    take(json, "offered", side.offered);
    take(json, "failed", side.failed);
    take(json, "refused", side.refused);
    take(json, "workspace_bytes", side.workspace_bytes);
    take(json, "config", side.config);
    take(json, "samples", side.timing.samples);
    take(json, "milliseconds", side.timing.median);
    take(json, "minimum", side.timing.minimum);
    take(json, "spread", side.timing.spread);
    if (!(side.timing.median > 0)) throw Error(ErrorKind::bad_input, "milliseconds must be above 0");
    return side;
}

GpuConditions conditions_of(const Json& json) {
    GpuConditions c;
    take(json, "available", c.available);
    visit_conditions(c, [&](const char* name, auto& value) { take(json, name, value); });
    return c;
}

BenchResult result_of(const Json& json, int format) {
    BenchResult r;
    r.layer = json.at("layer").get<std::string>();
    take(json, "group", r.group);
    r.problem = parse_key(json.at("problem").get<std::string>());
    r.mode = parse_mode(json.at("mode").get<std::string>());
    if (format == 1 && r.mode == Mode::fp32) r.mode = Mode::strict;
    take(json, "tolerance", r.tolerance);
    take(json, "limit_milliseconds", r.limit_milliseconds);
    r.ours = contestant_of(json.value("tconv", Json(nullptr)));
    r.peer = contestant_of(json.value("peer", Json(nullptr)));
    take(json, "tconv_reason", r.ours_reason);
    take(json, "peer_reason", r.peer_reason);
    if (json.contains("conditions")) {
        const Json& conditions = json.at("conditions");
        r.before = conditions_of(conditions.value("before", Json::object()));
        r.after = conditions_of(conditions.value("after", Json::object()));
        take(conditions, "warnings", r.warnings);
    }
    return r;
}

Ceilings ceilings_of(const Json& json) {
    Ceilings c;
    visit_ceilings(c, [&](const char* name, double& value) { take(json, name, value); });
    return c;
}

bool weights_prepared(const std::string& text) {
    if (text != k_weights_prepared && text != k_weights_each_call)
        throw Error(ErrorKind::bad_input,
                    fmt::format("weights ({}) must be {} or {}", text, k_weights_each_call, k_weights_prepared));
    return text == k_weights_prepared;
}

BenchRun run_of(const Json& json) {
    if (!json.is_object() || !json.contains("format") || !json.contains("results"))
        throw Error(ErrorKind::bad_input, "it must be a document that tconv bench --json wrote");
    const int format = json.at("format").get<int>();
    if (format < k_oldest_format || format > k_format) {
        throw Error(ErrorKind::bad_input,
                    fmt::format("format ({}) must be {} to {}", format, k_oldest_format, k_format));
    }
    BenchRun run;
    take(json, "tconv", run.tconv_version);
    take(json, "started", run.started);
    take(json, "command", run.command);
    take(json, "emulated", run.emulated);
    const Json& device = json.at("device");
    take(device, "key", run.device_key);
    take(device, "name", run.device_name);
    take(device, "driver", run.driver_version);
    take(device, "driver_package", run.driver_package);
    take(json, "nvrtc", run.compiler_version);
    if (json.contains("cudnn") && json.at("cudnn").is_object()) {
        take(json.at("cudnn"), "version", run.peer_version);
        take(json.at("cudnn"), "path", run.peer_path);
    }
    take(json, "cudnn_reason", run.peer_reason);
    take(json, "seed", run.seed);
    run.weights_prepared = weights_prepared(json.value("weights", std::string(k_weights_each_call)));
    if (json.contains("ceilings")) run.ceilings = ceilings_of(json.at("ceilings"));
    for (const Json& result : json.at("results"))
        run.results.push_back(result_of(result, format));
    take(json, "warnings", run.warnings);
    return run;
}

}  // namespace

std::string to_json(const BenchRun& run) {
    Json json{{"format", k_format},
              {"tconv", run.tconv_version},
              {"started", run.started},
              {"command", run.command},
              {"emulated", run.emulated},
              {"device",
               {{"key", run.device_key},
                {"name", run.device_name},
                {"driver", run.driver_version},
                {"driver_package", run.driver_package}}},
              {"nvrtc", run.compiler_version},
              {"cudnn",
               run.peer_version.empty() ? Json(nullptr) : Json{{"version", run.peer_version}, {"path", run.peer_path}}},
              {"cudnn_reason", run.peer_reason},
              {"seed", run.seed},
              {"weights", run.weights_prepared ? k_weights_prepared : k_weights_each_call}};
    Json& ceilings = json["ceilings"];
    visit_ceilings(run.ceilings, [&](const char* name, double value) { ceilings[name] = value; });
    Json& results = json["results"] = Json::array();
    for (const BenchResult& result : run.results)
        results.push_back(result_json(result));
    json["warnings"] = run.warnings;
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

BenchRun parse_run(const std::string& text, const std::string& name) {
    try {
        return run_of(Json::parse(text));
    } catch (const Json::exception& error) {
        throw Error(ErrorKind::bad_input, fmt::format("{} is no run of tconv bench: {}", name, error.what()));
    } catch (const Error& error) {
        throw Error(ErrorKind::bad_input, fmt::format("{} is no run of tconv bench: {}", name, error.what()));
    }
}

BenchRun read_run(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream text;
    if (!stream || !(text << stream.rdbuf()))
        throw Error(ErrorKind::bad_input, fmt::format("{} cannot be read", file.string()));
    return parse_run(text.str(), file.string());
}

void write_run(const BenchRun& run, const std::filesystem::path& file) {
    write_file_whole(file, to_json(run));
}

}  // namespace tconv
