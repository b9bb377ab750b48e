#include "tuner/session.hpp"

#include <memory>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/emulated.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tuner/local_evaluator.hpp"

using namespace tconv;

namespace {

/// A database in a folder of its own.
struct TemporaryDatabase {
    test::ScratchFolder folder;
    std::unique_ptr<Database> database = std::make_unique<Database>(folder / "tconv.db", OpenMode::read_write);
};

Problem small_problem() {
    Problem p;
    p.batch = 2;
    p.in_channels = 4;
    p.out_channels = 3;
    p.input = {1, 5, 6};
    p.kernel = {1, 3, 3};
    p.stride = {1, 2, 2};
    p.padding = {0, 1, 1};
    p.output_padding = {0, 1, 1};
    return p;
}

TuneRequest small_request(std::int64_t trials) {
    TuneRequest request;
    request.problem = small_problem();
    request.problem_name = "small";
    request.trials = trials;
    request.time_limit_seconds = 200;
    return request;
}

const std::vector<SearchSpace>& spaces() {
    static const auto all = load_search_spaces();
    return all;
}

TuneResult run(const TuneRequest& request, Database* database, std::stop_token stop = {},
               const std::function<void(const TuneProgress&)>& progress = {}) {
    auto& emulated = test::emulated();
    Laboratory laboratory(*emulated.device, *emulated.compiler);
    LocalEvaluator evaluator(laboratory);
    return tune(request, {evaluator, database, spaces(), 2}, progress, std::move(stop));
}

}  // namespace

TEST_CASE("a session finds a winner, keeps every trial, and a second run measures nothing") {
    TemporaryDatabase kept;
    const TuneResult first = run(small_request(6), kept.database.get());
    REQUIRE(first.winner.has_value());
    CHECK(first.trials_measured == 6);
    CHECK(first.trials_reused == 0);
    CHECK(first.emulated);
    CHECK(first.limit_milliseconds > 0);
    CHECK(first.winner->outcome.error.relative < 1e-5);
    const std::string device = device_key(test::emulated().device->info());
    CHECK(kept.database->trials(small_problem(), device).size() == 6);
    const auto stored = kept.database->winner(small_problem(), test::emulated().device->info(), 1e-4);
    REQUIRE(stored.has_value());
    CHECK(stored->trial.config == first.winner->config);

    const TuneResult second = run(small_request(6), kept.database.get());
    CHECK(second.trials_measured == 0);
    CHECK(second.trials_reused == 6);
    REQUIRE(second.winner.has_value());
    CHECK(second.winner->config == first.winner->config);

    const TuneResult third = run(small_request(8), kept.database.get());
    CHECK(third.trials_measured == 2);
    CHECK(kept.database->trials(small_problem(), device).size() == 8);
}

TEST_CASE("a stop keeps the trials measured so far") {
    TemporaryDatabase kept;
    std::stop_source stop;
    const TuneResult result =
        run(small_request(50), kept.database.get(), stop.get_token(), [&](const TuneProgress& progress) {
            if (progress.trials_done >= 2) stop.request_stop();
        });
    CHECK(result.interrupted);
    CHECK(result.trials_measured >= 2);
    CHECK(result.trials_measured < 50);
    CHECK(kept.database->trials(small_problem(), result.device).size() ==
          static_cast<std::size_t>(result.trials_measured));
}

TEST_CASE("a session whose time is spent before its first candidate tries it, and one without time does not") {
    TemporaryDatabase kept;
    TuneRequest request = small_request(4);
    request.time_limit_seconds = 0;
    CHECK(run(request, kept.database.get()).trials_measured == 0);
    request.time_limit_seconds = 1e-9;
    const TuneResult first = run(request, kept.database.get());
    CHECK(first.winner.has_value());
    CHECK(first.trials_measured >= 1);
    CHECK(first.trials_measured < 4);
    // Something is known now.
    CHECK(run(request, kept.database.get()).trials_measured == 0);
}

TEST_CASE("a session without a database says so and still finds a winner") {
    const TuneResult result = run(small_request(2), nullptr);
    CHECK(result.winner.has_value());
    REQUIRE(!result.warnings.empty());
    CHECK(result.warnings.front().find("nothing was kept") != std::string::npos);
}

TEST_CASE("a tolerance that no candidate holds gives no winner, and a looser one looks again") {
    TemporaryDatabase kept;
    TuneRequest request = small_request(3);
    request.tolerance = 0;
    const TuneResult strict = run(request, kept.database.get());
    CHECK(!strict.winner.has_value());
    CHECK(strict.failures.at(OutcomeKind::wrong_result) == 3);
    request.tolerance = 1e-4;
    const TuneResult loose = run(request, kept.database.get());
    CHECK(loose.trials_reused == 0);
    CHECK(loose.winner.has_value());
}

TEST_CASE("problems that cannot be tuned are refused with the reason") {
    TuneRequest request = small_request(1);
    request.problem = parse_key("1d n1 ci99 co99 g1 i1 k1 s1073741824 p0 op0 d1 nobias f16 nchw");
    CHECK_THROWS_WITH(run(request, nullptr), contains("direct needs dtype f32"));
    request = small_request(1);
    request.problem.batch = 0;
    CHECK_THROWS_WITH(run(request, nullptr), contains("batch (0)"));
    request = small_request(1);
    request.problem.in_channels = 512;
    request.problem.out_channels = 512;
    request.problem.input = {1, 64, 64};
    CHECK_THROWS_WITH(run(request, nullptr), contains("emulator"));
    request = small_request(1);
    request.problem.groups = 3;
    CHECK_THROWS_AS(run(request, nullptr), Error);
}
