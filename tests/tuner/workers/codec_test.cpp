#include "tuner/workers/codec.hpp"

#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/tuner/planted.hpp"

using namespace tconv;
using test::Draw;

namespace {

std::string draw_text(Draw& draw) {
    std::string bytes(static_cast<std::size_t>(draw.chance(20) ? 0 : draw.between(0, 200)), '\0');
    for (char& byte : bytes)
        byte = static_cast<char>(draw.between(0, 255));
    return bytes;
}

double draw_number(Draw& draw) {
    switch (draw.between(0, 6)) {
        case 0:
            return 0;
        case 1:
            return INFINITY;
        case 2:
            return -INFINITY;
        case 3:
            return std::nan("");
        case 4:
            return std::numeric_limits<double>::denorm_min();
        default:
            return std::ldexp(static_cast<double>(draw.between(-1000000000, 1000000000)) / 3,
                              static_cast<int>(draw.between(-900, 900)));
    }
}

std::int64_t draw_count(Draw& draw) {
    return draw.chance(20) ? std::numeric_limits<std::int64_t>::max() - draw.between(0, 1) : draw.between(-5, 1000000);
}

int draw_int(Draw& draw) {
    return draw.chance(20) ? std::numeric_limits<int>::min() : static_cast<int>(draw.between(-5, 1000000));
}

bool same(double a, double b) {
    return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

void check_same(const Timing& a, const Timing& b) {
    REQUIRE(a.samples.size() == b.samples.size());
    for (std::size_t i = 0; i < a.samples.size(); ++i)
        CHECK(same(a.samples[i], b.samples[i]));
    CHECK(same(a.median, b.median));
    CHECK(same(a.minimum, b.minimum));
    CHECK(same(a.spread, b.spread));
    CHECK(a.dropped_early == b.dropped_early);
}

Timing draw_timing(Draw& draw) {
    Timing timing;
    for (std::int64_t count = draw.between(0, 20); count > 0; --count)
        timing.samples.push_back(draw_number(draw));
    timing.median = draw_number(draw);
    timing.minimum = draw_number(draw);
    timing.spread = draw_number(draw);
    timing.dropped_early = draw.chance(50);
    return timing;
}

/// Over a frame and back, as it is on its way to a worker.
Message carried(const Message& message) {
    std::string bytes = framed(message);
    auto taken = take_message(bytes);
    REQUIRE(taken.has_value());
    return *taken;
}

/// Each member missing, and each of another type, is refused.
template <class Read>
void check_refusals(const Message& good, Read&& read) {
    CHECK_NOTHROW(read(good));
    for (const Message& other : {Message(), Message(1), Message("text"), Message::array()})
        CHECK_THROWS_AS(read(other), Error);
    for (const auto& [name, value] : good.items()) {
        INFO("member " << name);
        Message damaged = good;
        damaged.erase(name);
        CHECK_THROWS_AS(read(damaged), Error);
        damaged[name] = nullptr;
        CHECK_THROWS_AS(read(damaged), Error);
        damaged[name] = Message{{"unexpected", 1}};
        CHECK_THROWS_AS(read(damaged), Error);
        damaged[name] = value.is_boolean() ? Message(1) : Message(true);
        CHECK_THROWS_AS(read(damaged), Error);
        if (!value.is_number_integer()) continue;
        damaged[name] = 1.5;
        CHECK_THROWS_AS(read(damaged), Error);
        damaged[name] = std::numeric_limits<std::uint64_t>::max();
        CHECK_THROWS_AS(read(damaged), Error);
    }
}

}  // namespace

TEST_CASE("a device crosses without loss") {
    for (int seed = 0; seed < test::rounds(50); ++seed) {
        Draw draw(static_cast<std::uint64_t>(seed));
        DeviceInfo d;
        d.kind = draw.chance(50) ? DeviceKind::cuda : DeviceKind::emulator;
        d.name = draw_text(draw);
        d.driver_version = draw_text(draw);
        for (int* value : {&d.compute_major, &d.compute_minor, &d.multiprocessors, &d.warp_size})
            *value = draw_int(draw);
        d.l2_bytes = draw_count(draw);
        d.memory_bytes = draw_count(draw);
        const DeviceInfo back = device_info_from(carried(to_message(d)));
        // Every field is a member, so that what is equal as a message is equal.
        CHECK(to_message(back) == to_message(d));
        CHECK(back.kind == d.kind);
        CHECK(back.name == d.name);
        CHECK(back.compute_minor == d.compute_minor);
        CHECK(back.l2_bytes == d.l2_bytes);
        CHECK(back.memory_bytes == d.memory_bytes);
        CHECK(back.driver_version == d.driver_version);
    }
}

TEST_CASE("what is compiled and what comes of it cross without loss") {
    const CompileFailure failures[]{CompileFailure::refused, CompileFailure::crashed, CompileFailure::timed_out};
    for (int seed = 0; seed < test::rounds(50); ++seed) {
        Draw draw(static_cast<std::uint64_t>(seed));
        CompileRequest request{draw_text(draw), draw_text(draw), {}, draw_text(draw), {}};
        for (std::int64_t count = draw.between(0, 3); count > 0; --count) {
            request.kernels.push_back(draw_text(draw));
            request.options.push_back(draw_text(draw));
        }
        const CompileRequest back = compile_request_from(carried(to_message(request)));
        CHECK(back.name == request.name);
        CHECK(back.source == request.source);
        CHECK(back.kernels == request.kernels);
        CHECK(back.architecture == request.architecture);
        CHECK(back.options == request.options);

        CompileResult result;
        result.ok = draw.chance(50);
        result.failure = failures[draw.between(0, 2)];
        result.code.code = draw_text(draw);
        result.log = draw_text(draw);
        result.milliseconds = draw_number(draw);
        const CompileResult came = compile_result_from(carried(to_message(result)));
        CHECK(came.ok == result.ok);
        CHECK(came.failure == result.failure);
        CHECK(came.code.code == result.code.code);
        CHECK(came.log == result.log);
        CHECK(same(came.milliseconds, result.milliseconds));
    }
}

TEST_CASE("a candidate with its code crosses without loss") {
    for (int seed = 0; seed < test::rounds(50); ++seed) {
        Draw draw(static_cast<std::uint64_t>(seed));
        Compiled compiled;
        compiled.candidate.problem = test::draw_problem(draw);
        compiled.candidate.template_name = draw_text(draw);
        for (std::int64_t count = draw.between(0, 6); count > 0; --count)
            compiled.candidate.config[std::string("p").append(std::to_string(count))] = draw_count(draw);
        compiled.candidate.plan = test::planted_plan(test::planted_problem());
        compiled.candidate.plan.workspace_bytes = draw.between(0, 1 << 20);
        compiled.candidate.plan.constants["c"] = draw_count(draw);
        compiled.candidate.tolerance = draw_number(draw);
        compiled.candidate.best_milliseconds = draw_number(draw);
        compiled.code.code = draw_text(draw);
        const Compiled back = compiled_from(carried(to_message(compiled)));
        CHECK(key(back.candidate.problem) == key(compiled.candidate.problem));
        CHECK(back.candidate.template_name == compiled.candidate.template_name);
        CHECK(back.candidate.config == compiled.candidate.config);
        CHECK(back.candidate.plan == compiled.candidate.plan);
        CHECK(same(back.candidate.tolerance, compiled.candidate.tolerance));
        CHECK(same(back.candidate.best_milliseconds, compiled.candidate.best_milliseconds));
        CHECK(back.code.code == compiled.code.code);
    }
}

TEST_CASE("a preparation and a timing cross without loss") {
    for (int seed = 0; seed < test::rounds(50); ++seed) {
        Draw draw(static_cast<std::uint64_t>(seed));
        Preparation p;
        double* const values[]{&p.ceilings.copy_bytes_per_second,     &p.ceilings.fma_flops_per_second,
                               &p.ceilings.empty_launch_milliseconds, &p.ceilings.tf32_flops_per_second,
                               &p.ceilings.bf16_flops_per_second,     &p.reference_milliseconds};
        for (double* value : values)
            *value = draw_number(draw);
        const Preparation back = preparation_from(carried(to_message(p)));
        CHECK(same(back.ceilings.copy_bytes_per_second, p.ceilings.copy_bytes_per_second));
        CHECK(same(back.ceilings.fma_flops_per_second, p.ceilings.fma_flops_per_second));
        CHECK(same(back.ceilings.empty_launch_milliseconds, p.ceilings.empty_launch_milliseconds));
        CHECK(same(back.ceilings.tf32_flops_per_second, p.ceilings.tf32_flops_per_second));
        CHECK(same(back.ceilings.bf16_flops_per_second, p.ceilings.bf16_flops_per_second));
        CHECK(same(back.reference_milliseconds, p.reference_milliseconds));

        const Timing timing = draw_timing(draw);
        check_same(timing_from(carried(to_message(timing))), timing);
    }
}

TEST_CASE("a measurement crosses without loss but for the plan, which stays with the one who asked") {
    for (int seed = 0; seed < test::rounds(50); ++seed) {
        Draw draw(static_cast<std::uint64_t>(seed));
        Measurement m;
        Outcome& o = m.outcome;
        o.kind = static_cast<OutcomeKind>(draw.between(0, static_cast<int>(OutcomeKind::too_slow)));
        o.reason = draw_text(draw);
        o.error = {draw_number(draw), draw_number(draw), draw_count(draw), draw_text(draw), draw_number(draw)};
        o.timing = draw_timing(draw);
        o.resources = {draw_int(draw), draw_count(draw), draw_count(draw), draw_int(draw)};
        m.seconds = {draw_number(draw), draw_number(draw), draw_number(draw)};
        m.device_lost = draw.chance(50);
        const Measurement back = measurement_from(carried(to_message(m)));
        CHECK(back.outcome.kind == o.kind);
        CHECK(back.outcome.reason == o.reason);
        CHECK(same(back.outcome.error.relative, o.error.relative));
        CHECK(same(back.outcome.error.absolute, o.error.absolute));
        CHECK(back.outcome.error.worst_index == o.error.worst_index);
        CHECK(back.outcome.error.distribution == o.error.distribution);
        CHECK(same(back.outcome.error.repeat_spread, o.error.repeat_spread));
        check_same(back.outcome.timing, o.timing);
        CHECK(back.outcome.resources.registers == o.resources.registers);
        CHECK(back.outcome.resources.static_shared_bytes == o.resources.static_shared_bytes);
        CHECK(back.outcome.resources.local_bytes == o.resources.local_bytes);
        CHECK(back.outcome.resources.blocks_per_multiprocessor == o.resources.blocks_per_multiprocessor);
        CHECK(same(back.seconds.loading, m.seconds.loading));
        CHECK(same(back.seconds.validating, m.seconds.validating));
        CHECK(same(back.seconds.timing, m.seconds.timing));
        CHECK(back.device_lost == m.device_lost);
    }
}

TEST_CASE("a message with a member missing or of another type is an error") {
    check_refusals(to_message(DeviceInfo{}), device_info_from);
    check_refusals(to_message(CompileRequest{"a", "b", {"c"}, "d", {"e"}}), compile_request_from);
    check_refusals(to_message(CompileResult{}), compile_result_from);
    check_refusals(to_message(Preparation{}), preparation_from);
    check_refusals(to_message(Timing{{1.0}, 1, 1, 0, false, 0, "remark"}), timing_from);
    check_refusals(to_message(Measurement{}), measurement_from);
    const Problem problem = test::planted_problem();
    check_refusals(to_message(Compiled{{problem, "planted", {{"a", 1}}, test::planted_plan(problem), 1e-4, 0}, {"x"}}),
                   compiled_from);
}

TEST_CASE("words that are none of the known ones are errors") {
    Message device = to_message(DeviceInfo{});
    device["kind"] = "toaster";
    CHECK_THROWS_AS(device_info_from(device), Error);
    Message result = to_message(CompileResult{});
    result["failure"] = "bored";
    CHECK_THROWS_AS(compile_result_from(result), Error);
    Message measurement = to_message(Measurement{});
    measurement["kind"] = "fine";
    CHECK_THROWS_AS(measurement_from(measurement), Error);
}
