#include "tuner/precompile.hpp"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "tests/catch.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/tuner/spaces_for_tests.hpp"
#include "tuner/builder.hpp"
#include "tuner/contest.hpp"

using namespace tconv;

namespace {

/// Gives code made of the source; refuses every source whose hash ends in a digit below `refuse_below`.
class PretendedCompiler final : public Compiler {
public:
    [[nodiscard]] std::string version() const override { return "pretended 1"; }
    [[nodiscard]] CompileResult compile(const CompileRequest& request) override {
        ++calls;
        CompileResult result;
        const std::string hash = content_hash(request.source);
        result.ok = hash.back() - '0' >= refuse_below;
        result.code.code = "code of " + hash;
        return result;
    }
    std::atomic<std::int64_t> calls = 0;
    int refuse_below = 0;
};

/// A code cache of its own while the object lives.
struct CodeCache {
    CodeCache() { setenv("TCONV_CACHE", folder.path().c_str(), 1); }
    CodeCache(const CodeCache&) = delete;
    CodeCache& operator=(const CodeCache&) = delete;
    ~CodeCache() { unsetenv("TCONV_CACHE"); }
    test::ScratchFolder folder;
};

const std::vector<SearchSpace>& spaces() {
    static const auto all = load_search_spaces();
    return all;
}

Problem problem() {
    Problem p;
    p.batch = 2;
    p.in_channels = 8;
    p.out_channels = 6;
    p.input = {1, 12, 12};
    p.kernel = {1, 3, 3};
    p.stride = {1, 2, 2};
    return p;
}

DeviceInfo device() {
    DeviceInfo info = testing::test_device();
    info.shared_memory_per_multiprocessor = 233472;
    return info;
}

PrecompileRequest request(std::int64_t candidates) {
    return {problem(), -1, candidates, 5};
}

const auto k_silent = [](std::int64_t) {};

/// Checks that the code of a session's next `count` candidates is in the cache.
void check_in_cache(Contest& contest, int count) {
    PretendedCompiler compiler;
    Builder builder(compiler, device());
    for (int i = 0; i < count; ++i) {
        const auto candidate = contest.next();
        REQUIRE(candidate);
        CHECK(builder.build(*candidate).ok);
    }
    CHECK(compiler.calls == 0);
}

}  // namespace

TEST_CASE("what a session of the same seed proposes first is then in the code cache") {
    const CodeCache cache;
    PretendedCompiler compiler;
    Precompiler precompiler(compiler, device(), spaces(), nullptr, 2);
    std::int64_t last = 0;
    const PrecompileResult first = precompiler.compile(request(40), [&](std::int64_t done) { last = done; }, {});
    CHECK(first.candidates == 40);
    CHECK(last == 40);
    CHECK(first.compiled == compiler.calls);
    CHECK(first.compiled + first.found == 40);
    for (const std::int64_t trials : {40, 200, 5000}) {
        Contest contest(problem(), device(), spaces(), 5, trials, 1e-4);
        check_in_cache(contest, 40);
    }
}

TEST_CASE("nothing is compiled twice, also by another process's worth of objects") {
    const CodeCache cache;
    PretendedCompiler compiler;
    {
        Precompiler precompiler(compiler, device(), spaces(), nullptr, 2);
        (void)precompiler.compile(request(12), k_silent, {});
        CHECK(precompiler.compile_fixed().compiled >= 2);
    }
    const std::int64_t calls = compiler.calls;
    Precompiler precompiler(compiler, device(), spaces(), nullptr, 2);
    const PrecompileResult again = precompiler.compile(request(12), k_silent, {});
    CHECK(again.compiled == 0);
    CHECK(again.found == 12);
    CHECK(precompiler.compile_fixed().compiled == 0);
    CHECK(compiler.calls == calls);
    CHECK(precompiler.compile(request(15), k_silent, {}).candidates == 15);
    CHECK(compiler.calls > calls);
}

TEST_CASE("a refused candidate is counted and does not end the work") {
    const CodeCache cache;
    PretendedCompiler compiler;
    compiler.refuse_below = 5;
    Precompiler precompiler(compiler, device(), spaces(), nullptr, 2);
    const PrecompileResult result = precompiler.compile(request(40), k_silent, {});
    CHECK(result.refused > 0);
    CHECK(result.compiled > 0);
    CHECK(result.candidates == 40);
    CHECK(result.compiled + result.found + result.refused == 40);
}

TEST_CASE("round the best stored trials, the next candidates are a session's") {
    const CodeCache cache;
    Database database(cache.folder / "t.db", OpenMode::read_write);
    Contest earlier(problem(), device(), spaces(), 5, 200, 1e-4);
    for (int i = 0; i < 70; ++i) {
        const auto candidate = earlier.next();
        REQUIRE(candidate);
        Trial trial;
        trial.problem = problem();
        trial.template_name = candidate->template_name;
        trial.template_hash = earlier.template_hash_of(candidate->template_name);
        trial.config = candidate->config;
        trial.outcome.plan = candidate->plan;
        trial.outcome.timing.median = 1.0 + (i * 37) % 70;
        database.record(device(), trial, "");
    }
    PretendedCompiler compiler;
    Precompiler precompiler(compiler, device(), spaces(), &database, 2);
    CHECK(precompiler.compile(request(10), k_silent, {}).candidates == 10);

    Contest session(problem(), device(), spaces(), 5, 200, 1e-4);
    for (const Trial& trial : database.trials(problem(), device_key(device())))
        session.report(trial.template_name, trial.config, trial.outcome.timing.median);
    check_in_cache(session, 10);

    Contest fresh(problem(), device(), spaces(), 5, 200, 1e-4);
    PretendedCompiler never;
    Builder builder(never, device());
    for (int i = 0; i < 10; ++i)
        (void)builder.build(*fresh.next());
    CHECK(never.calls > 0);  // without the trials the first candidates are others
}

TEST_CASE("a stop ends the work between two candidates") {
    const CodeCache cache;
    PretendedCompiler compiler;
    Precompiler precompiler(compiler, device(), spaces(), nullptr, 1);
    std::stop_source stop;
    const PrecompileResult result = precompiler.compile(
        request(1000),
        [&](std::int64_t done) {
            if (done == 3) stop.request_stop();
        },
        stop.get_token());
    CHECK(result.candidates == 3);
}

TEST_CASE("a problem that no family takes is refused") {
    const CodeCache cache;
    PretendedCompiler compiler;
    const std::vector<SearchSpace> none;
    Precompiler precompiler(compiler, device(), none, nullptr, 1);
    CHECK(testing::error_of([&] { (void)precompiler.compile(request(1), k_silent, {}); }).find("no kernel family") ==
          0);
}
