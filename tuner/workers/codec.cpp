#include "tuner/workers/codec.hpp"

#include <fmt/format.h>

#include <array>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "tuner/workers/messages.hpp"

namespace tconv {
namespace {

/// Calls `read` and turns what the JSON library throws into an Error.
template <class Read>
auto guarded(const char* what, Read&& read) {
    try {
        return read();
    } catch (const Message::exception& error) {
        throw Error(ErrorKind::device, fmt::format("a worker's {} cannot be read: {}", what, error.what()));
    } catch (const Error& error) {
        throw Error(ErrorKind::device, fmt::format("a worker's {} cannot be read: {}", what, error.what()));
    }
}

Message binary(const std::string& bytes) {
    return Message::binary({bytes.begin(), bytes.end()});
}

std::string bytes_of(const Message& message) {
    const Message::binary_t& binary = message.get_binary();
    return {binary.begin(), binary.end()};
}

// Texts of compilers and kernels need not be UTF-8, and CBOR's texts must be.
Message text(const std::string& value) {
    return binary(value);
}

/// The library would also make numbers of truth values and cut what is too large.
template <class Value>
Value number_from(const Message& message, const char* name) {
    if constexpr (std::is_same_v<Value, bool>) {
        if (message.is_boolean()) return message.get<bool>();
    } else if constexpr (std::is_floating_point_v<Value>) {
        if (message.is_number()) return message.get<Value>();
    } else {
        if (message.is_number_unsigned() && std::in_range<Value>(message.get<std::uint64_t>()))
            return static_cast<Value>(message.get<std::uint64_t>());
        if (message.is_number_integer() && !message.is_number_unsigned() &&
            std::in_range<Value>(message.get<std::int64_t>()))
            return static_cast<Value>(message.get<std::int64_t>());
    }
    throw Error(ErrorKind::device, fmt::format("'{}' is no number of its type", name));
}

template <class Value>
void take(const Message& message, const char* name, Value& value) {
    const Message& member = message.at(name);
    if constexpr (std::is_arithmetic_v<Value>) {
        value = number_from<Value>(member, name);
    } else if constexpr (std::is_same_v<Value, std::vector<double>>) {
        if (!member.is_array()) throw Error(ErrorKind::device, fmt::format("'{}' is no list", name));
        value.clear();
        for (const Message& one : member)
            value.push_back(number_from<double>(one, name));
    } else {
        member.get_to(value);
    }
}

constexpr std::array<std::pair<CompileFailure, const char*>, 3> k_compile_failures{
    {{CompileFailure::refused, "refused"},
     {CompileFailure::crashed, "crashed"},
     {CompileFailure::timed_out, "timed out"}}};

const char* to_text(CompileFailure failure) {
    for (const auto& [value, name] : k_compile_failures) {
        if (value == failure) return name;
    }
    return k_compile_failures.front().second;
}

CompileFailure compile_failure_from(const std::string& text) {
    for (const auto& [value, name] : k_compile_failures) {
        if (text == name) return value;
    }
    throw Error(ErrorKind::device, fmt::format("a compilation that '{}' is unknown", text));
}

DeviceKind device_kind_from(const std::string& text) {
    if (text == "cuda") return DeviceKind::cuda;
    if (text == "emulator") return DeviceKind::emulator;
    throw Error(ErrorKind::device, fmt::format("a device of kind '{}' is unknown", text));
}

}  // namespace

Message to_message(const DeviceInfo& d) {
    return {{"kind", d.kind == DeviceKind::cuda ? "cuda" : "emulator"},
            {"name", d.name},
            {"compute_major", d.compute_major},
            {"compute_minor", d.compute_minor},
            {"multiprocessors", d.multiprocessors},
            {"warp_size", d.warp_size},
            {"max_threads_per_block", d.max_threads_per_block},
            {"registers_per_multiprocessor", d.registers_per_multiprocessor},
            {"shared_memory_per_block", d.shared_memory_per_block},
            {"shared_memory_per_multiprocessor", d.shared_memory_per_multiprocessor},
            {"l2_bytes", d.l2_bytes},
            {"memory_bytes", d.memory_bytes},
            {"driver_version", d.driver_version}};
}

DeviceInfo device_info_from(const Message& m) {
    return guarded("device", [&] {
        DeviceInfo d;
        d.kind = device_kind_from(m.at("kind").get<std::string>());
        take(m, "name", d.name);
        take(m, "compute_major", d.compute_major);
        take(m, "compute_minor", d.compute_minor);
        take(m, "multiprocessors", d.multiprocessors);
        take(m, "warp_size", d.warp_size);
        take(m, "max_threads_per_block", d.max_threads_per_block);
        take(m, "registers_per_multiprocessor", d.registers_per_multiprocessor);
        take(m, "shared_memory_per_block", d.shared_memory_per_block);
        take(m, "shared_memory_per_multiprocessor", d.shared_memory_per_multiprocessor);
        take(m, "l2_bytes", d.l2_bytes);
        take(m, "memory_bytes", d.memory_bytes);
        take(m, "driver_version", d.driver_version);
        return d;
    });
}

Message to_message(const CompileRequest& r) {
    return {{"name", r.name},
            {"source", text(r.source)},
            {"kernels", r.kernels},
            {"architecture", r.architecture},
            {"options", r.options}};
}

CompileRequest compile_request_from(const Message& m) {
    return guarded("source", [&] {
        CompileRequest r;
        take(m, "name", r.name);
        r.source = bytes_of(m.at("source"));
        take(m, "kernels", r.kernels);
        take(m, "architecture", r.architecture);
        take(m, "options", r.options);
        return r;
    });
}

Message to_message(const CompileResult& r) {
    return {{"ok", r.ok},
            {"failure", to_text(r.failure)},
            {"code", binary(r.code.code)},
            {"log", text(r.log)},
            {"milliseconds", r.milliseconds}};
}

CompileResult compile_result_from(const Message& m) {
    return guarded("compilation", [&] {
        CompileResult r;
        take(m, "ok", r.ok);
        r.failure = compile_failure_from(m.at("failure").get<std::string>());
        r.code.code = bytes_of(m.at("code"));
        r.log = bytes_of(m.at("log"));
        take(m, "milliseconds", r.milliseconds);
        return r;
    });
}

Message to_message(const Compiled& c) {
    return {{"problem", key(c.candidate.problem)},
            {"family", c.candidate.template_name},
            {"config", to_json(c.candidate.config)},
            {"plan", to_json(c.candidate.plan)},
            {"tolerance", c.candidate.tolerance},
            {"best_milliseconds", c.candidate.best_milliseconds},
            {"code", binary(c.code.code)}};
}

Compiled compiled_from(const Message& m) {
    return guarded("candidate", [&] {
        Compiled c;
        c.candidate.problem = parse_key(m.at("problem").get<std::string>());
        take(m, "family", c.candidate.template_name);
        c.candidate.config = config_from_json(m.at("config").get<std::string>());
        c.candidate.plan = launch_plan_from_json(m.at("plan").get<std::string>());
        take(m, "tolerance", c.candidate.tolerance);
        take(m, "best_milliseconds", c.candidate.best_milliseconds);
        c.code.code = bytes_of(m.at("code"));
        return c;
    });
}

Message to_message(const Preparation& p) {
    Message message{{"reference_milliseconds", p.reference_milliseconds}};
    visit_ceilings(p.ceilings, [&](const char* name, double value) { message[name] = value; });
    return message;
}

Preparation preparation_from(const Message& m) {
    return guarded("preparation", [&] {
        Preparation p;
        visit_ceilings(p.ceilings, [&](const char* name, double& value) { take(m, name, value); });
        take(m, "reference_milliseconds", p.reference_milliseconds);
        return p;
    });
}

double device_seconds_from(const Message& answer) {
    return guarded("answer", [&] {
        double seconds = 0;
        take(answer, messages::k_device_seconds, seconds);
        return seconds;
    });
}

Message to_message(const Timing& t) {
    return {{"samples", t.samples},
            {"median", t.median},
            {"minimum", t.minimum},
            {"spread", t.spread},
            {"dropped_early", t.dropped_early},
            {"rank", t.rank},
            {"remark", t.remark}};
}

Timing timing_from(const Message& m) {
    return guarded("timing", [&] {
        Timing t;
        take(m, "samples", t.samples);
        take(m, "median", t.median);
        take(m, "minimum", t.minimum);
        take(m, "spread", t.spread);
        take(m, "dropped_early", t.dropped_early);
        take(m, "rank", t.rank);
        take(m, "remark", t.remark);
        return t;
    });
}

// The plan stays with the one who asked.
Message to_message(const Measurement& m) {
    const Outcome& o = m.outcome;
    return {{"kind", to_string(o.kind)},
            {"reason", text(o.reason)},
            {"error_relative", o.error.relative},
            {"error_absolute", o.error.absolute},
            {"error_index", o.error.worst_index},
            {"error_distribution", o.error.distribution},
            {"repeat_spread", o.error.repeat_spread},
            {"timing", to_message(o.timing)},
            {"registers", o.resources.registers},
            {"static_shared_bytes", o.resources.static_shared_bytes},
            {"local_bytes", o.resources.local_bytes},
            {"blocks_per_multiprocessor", o.resources.blocks_per_multiprocessor},
            {"loading_seconds", m.seconds.loading},
            {"validating_seconds", m.seconds.validating},
            {"timing_seconds", m.seconds.timing},
            {"device_lost", m.device_lost}};
}

Measurement measurement_from(const Message& m) {
    return guarded("measurement", [&] {
        Measurement result;
        Outcome& o = result.outcome;
        o.kind = parse_outcome_kind(m.at("kind").get<std::string>());
        o.reason = bytes_of(m.at("reason"));
        take(m, "error_relative", o.error.relative);
        take(m, "error_absolute", o.error.absolute);
        take(m, "error_index", o.error.worst_index);
        take(m, "error_distribution", o.error.distribution);
        take(m, "repeat_spread", o.error.repeat_spread);
        o.timing = timing_from(m.at("timing"));
        take(m, "registers", o.resources.registers);
        take(m, "static_shared_bytes", o.resources.static_shared_bytes);
        take(m, "local_bytes", o.resources.local_bytes);
        take(m, "blocks_per_multiprocessor", o.resources.blocks_per_multiprocessor);
        take(m, "loading_seconds", result.seconds.loading);
        take(m, "validating_seconds", result.seconds.validating);
        take(m, "timing_seconds", result.seconds.timing);
        take(m, "device_lost", result.device_lost);
        return result;
    });
}

}  // namespace tconv
