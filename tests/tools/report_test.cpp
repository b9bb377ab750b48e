#include "tools/report.hpp"

#include <random>

#include "tests/catch.hpp"
#include "tools/format.hpp"
#include "tools/report_json.hpp"

using namespace tconv;

namespace {

Trial trial(std::mt19937& random, const Problem& problem) {
    const auto real = [&] { return std::uniform_real_distribution<double>(0.1, 50)(random); };
    Trial t;
    t.id = static_cast<std::int64_t>(random());
    t.problem = problem;
    t.template_name = "direct";
    t.template_hash = "0123456789abcdef";
    t.config = {{"tile_w", static_cast<std::int64_t>(random() % 64)}, {"block_size", 128}, {"unroll", 1}};
    t.outcome.timing.samples = {real(), real(), real()};
    t.outcome.timing.median = real();
    t.outcome.timing.minimum = real();
    t.outcome.timing.spread = 0.01;
    t.outcome.error = {1e-7 * real(), 1e-6 * real(), 42, "normal"};
    t.outcome.resources = {227, 1024, 16, 2};
    t.outcome.compile_milliseconds = real();
    t.outcome.plan.source_file = "direct.cu";
    t.outcome.plan.launches.resize(1);
    t.outcome.plan.launches[0].kernel = "tconv_direct";
    t.driver_version = "13.0";
    t.created = "2026-01-01T00:00:00Z";
    return t;
}

TuneResult result(unsigned seed) {
    std::mt19937 random(seed);
    TuneResult r;
    r.problem.spatial_axes = 2;
    r.problem.batch = 2;
    r.problem.in_channels = 8;
    r.problem.out_channels = 6;
    r.problem.input = {1, 12, 12};
    r.problem.kernel = {1, 3, 3};
    r.problem_name = "up1";
    r.tolerance = 1e-4;
    r.device = "NVIDIA H200, cc 9.0, 132 multiprocessors";
    r.winner = trial(random, r.problem);
    r.runner_up = trial(random, r.problem);
    r.reference_milliseconds = 100;
    r.ceilings = {4.3e12, 6.7e13, 0.002};
    r.limit_milliseconds = 0.05;
    r.trials_measured = 180;
    r.trials_reused = 20;
    r.failures = {{OutcomeKind::compile_error, 3}, {OutcomeKind::timeout, 1}};
    r.seconds = 60;
    r.device_busy_seconds = 45;
    r.stages.validating = 21.25;
    r.stages.handing_over = 0.5;
    r.stages.other = 0.001;
    r.warnings = {"a warning\nof two lines"};
    return r;
}

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the JSON of a result reads back with every value") {
    for (unsigned seed = 0; seed < 20; ++seed) {
        const TuneResult r = result(seed);
        const auto json = nlohmann::json::parse(dump_json(result_json(r)));
        CHECK(json["name"] == r.problem_name);
        CHECK(parse_key(json["problem"]["key"]) == r.problem);
        CHECK(json["problem"]["input"] == std::vector<std::int64_t>{12, 12});
        CHECK(json["problem"]["bias"] == false);
        CHECK(json["problem"]["dtype"] == "f32");
        CHECK(json["device"] == r.device);
        CHECK(json["emulated"] == false);
        CHECK(json["tolerance"] == r.tolerance);
        CHECK(json["reference_milliseconds"] == *r.reference_milliseconds);
        CHECK(json["limit_milliseconds"] == r.limit_milliseconds);
        CHECK(json["ceilings"]["copy_bytes_per_second"] == r.ceilings.copy_bytes_per_second);
        CHECK(json["trials_measured"] == r.trials_measured);
        CHECK(json["trials_reused"] == r.trials_reused);
        CHECK(json["failures"] == nlohmann::json{{"compile_error", 3}, {"timeout", 1}});
        CHECK(json["device_busy_seconds"] == r.device_busy_seconds);
        CHECK(json["stage_seconds"]["handing_over"] == r.stages.handing_over);
        CHECK(json["stage_seconds"].size() == 9);
        CHECK(json["warnings"] == r.warnings);
        for (const auto& [name, t] : {std::pair{"winner", *r.winner}, std::pair{"runner_up", *r.runner_up}}) {
            const auto& twin = json[name];
            CHECK(config_from_json(twin["config"].dump()) == t.config);
            CHECK(launch_plan_from_json(twin["outcome"]["plan"].dump()) == t.outcome.plan);
            CHECK(twin["outcome"]["timing"]["samples_milliseconds"] == t.outcome.timing.samples);
            CHECK(twin["outcome"]["timing"]["median_milliseconds"] == t.outcome.timing.median);
            CHECK(twin["outcome"]["error"]["relative"] == t.outcome.error.relative);
            CHECK(twin["outcome"]["resources"]["registers"] == t.outcome.resources.registers);
            CHECK(twin["template_hash"] == t.template_hash);
        }
    }
}

TEST_CASE("what is not there is null in JSON") {
    TuneResult r = result(1);
    r.winner.reset();
    r.runner_up.reset();
    r.reference_milliseconds.reset();
    const auto json = result_json(r);
    for (const char* name : {"winner", "runner_up", "reference_milliseconds", "speed_up", "share_of_limit"})
        CHECK(json.at(name).is_null());
}

TEST_CASE("bytes that are no UTF-8 do not stop the document") {
    TuneResult r = result(1);
    r.warnings = {"path \xff\xfe"};
    CHECK(nlohmann::json::parse(dump_json(result_json(r)))["warnings"].size() == 1);
}

TEST_CASE("the table says all that a reader asks for") {
    TuneResult r = result(2);
    r.winner->outcome.timing.median = 10;
    r.winner->outcome.timing.spread = 0.004;
    r.limit_milliseconds = 6;
    const std::string text = report(r, {"/home/u/tconv.db", 200});
    for (const char* part :
         {"up1: 2-D, batch 2, 8 -> 6 channels", "output 14x14", "NVIDIA H200", "direct block_size=128",
          "10.00 ms +- 0.4 %", "10.0x over the reference", "60.0 % of what the device allows", "tolerance 0.0001",
          "runner-up", "180 measured, 20 reused", "failed: 3 compile_error, 1 timeout", "45.0 s of 60.0 s (75 %)",
          "handing over 0.50 s, validating 21.25 s\n", "/home/u/tconv.db", "a warning of two lines"}) {
        INFO(text);
        INFO(part);
        CHECK(holds(text, part));
    }
    CHECK_FALSE(holds(text, "emulation"));
}

TEST_CASE("what was best with former kernels is told where the trials are counted") {
    TuneResult r = result(2);
    CHECK_FALSE(holds(report(r, {"db", 200}), "former"));
    r.trials_former = 2;
    CHECK(holds(report(r, {"db", 200}), "180 measured (2 of the best with former kernels), 20 reused"));
    CHECK(result_json(r).at("trials_former") == 2);
}

TEST_CASE("emulated times are labelled wherever they stand") {
    TuneResult r = result(3);
    r.emulated = true;
    CHECK(holds(report(r, {"db", 200}), "no GPU figure"));
    CHECK(holds(summary({r}), "no GPU figure"));
    CHECK_FALSE(holds(report(r, {"db", 200}), "allows"));
    CHECK_FALSE(holds(summary({r}), " %"));
    r.emulated = false;
    CHECK_FALSE(holds(summary({r}), "no GPU figure"));
}

TEST_CASE("a session without a winner says so") {
    TuneResult r = result(4);
    r.winner.reset();
    r.runner_up.reset();
    CHECK(holds(report(r, {"", 80}), "none: no candidate was valid"));
    CHECK(holds(report(r, {"", 80}), "nowhere"));
    CHECK(holds(summary({r}), "no winner"));
    r.trials_measured = 0;
    r.trials_reused = 0;
    CHECK(holds(report(r, {"", 80}), "none: no candidate was tried"));
}

TEST_CASE("the table keeps to the terminal's width where words allow it") {
    const TuneResult r = result(5);
    for (const int width : {60, 80, 100, 160}) {
        const std::string text = report(r, {"/home/u/tconv.db", width});
        std::size_t begin = text.find('\n') + 1;  // the title stands on one line
        for (std::size_t end = 0; begin < text.size(); begin = end + 1) {
            end = text.find('\n', begin);
            CHECK(display_width(std::string_view(text).substr(begin, end - begin)) <= static_cast<std::size_t>(width));
        }
    }
}

TEST_CASE("a front of several trials is told in the table and in JSON, one of the winner alone not in the table") {
    TuneResult r = result(4);
    r.front = {*r.winner};
    ReportContext context;
    context.width = 100;
    CHECK(!holds(report(r, context), "front"));
    Trial accurate = *r.winner;
    accurate.outcome.timing.median = 77;
    accurate.outcome.error.relative = 1.5e-9;
    accurate.config["unroll"] = 3;
    Trial other = accurate;
    other.template_name = "matrix";
    other.strict = false;
    other.outcome.error.relative = 1.2e-9;
    r.front = {*r.winner, accurate, other};
    const std::string text = report(r, context);
    CHECK(holds(text, "front"));
    CHECK(holds(text, "strict: the winner\n"));
    CHECK(holds(text, "77.00 ms, error 1.5e-09, strict: the winner but for unroll=3"));
    CHECK(holds(text, "error 1.2e-09: matrix "));
    r.front.assign(12, accurate);
    CHECK(holds(report(r, context), "and 4 more, in --json"));
    const auto json = nlohmann::json::parse(dump_json(result_json(r)));
    REQUIRE(json["front"].size() == 12);
    CHECK(json["front"][0]["milliseconds"] == 77);
    CHECK(json["front"][0]["error"] == 1.5e-9);
    CHECK(json["front"][0]["strict"] == true);
    CHECK(json["front"][0]["family"] == "direct");
    CHECK(json["front"][0]["config"]["unroll"] == 3);
    CHECK(json["strict"] == false);
}

TEST_CASE("a runner-up is told by what differs") {
    std::mt19937 random(1);
    Trial a = trial(random, Problem{});
    Trial b = a;
    b.config["tile_w"] = a.config["tile_w"] + 1;
    CHECK(config_difference(b, a) == "tile_w=" + std::to_string(b.config["tile_w"]));
    b.template_name = "other";
    CHECK(config_difference(b, a) == to_string(b.config));
}
