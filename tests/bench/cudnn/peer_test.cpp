#include "bench/cudnn/peer.hpp"

#include "core/error.hpp"
#include "tests/bench/cudnn/fake_library.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/emulated.hpp"
#include "tests/support/random_problem.hpp"
#include "tuner/validator.hpp"

using namespace tconv;

// The fake library computes on the memory of the emulator, so that whole calls are checked as those of any candidate.
namespace {

struct Bench {
    Device& device = *test::emulated().device;
    Builder builder{*test::emulated().compiler, device.info()};
    std::unique_ptr<Cudnn> peer;

    explicit Bench(const std::string& script) {
        test::use_script(script);
        peer = cudnn::make_peer(device, builder, cudnn::Library(TCONV_FAKE_CUDNN), cudnn::Context());
    }
    std::unique_ptr<CudnnOffers> offers(const Problem& problem, const CudnnRequest& request = {}) {
        return peer->offers(problem, request);
    }
};

Problem small_problem(bool bias = false) {
    Problem p;
    p.in_channels = 3;
    p.out_channels = 2;
    p.input = {1, 4, 5};
    p.kernel = {1, 3, 3};
    p.stride = {1, 2, 2};
    p.bias = bias;
    return p;
}

std::vector<std::string> descriptions(const CudnnOffers& offers) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < offers.size(); ++i)
        all.push_back(offers.description(i));
    return all;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("offers come in the order of the heuristics, without repeats, with the engines that none names last") {
    Bench bench(
        "engine AB 38 knobs=13:32,2:1\n"
        "engine A 1\n"
        "engine B 38 knobs=2:1,13:64\n"
        "engine AF 38 knobs=2:1,13:32\n"
        "engine F 0\n"
        "engine - 7\n");
    const auto offers = bench.offers(small_problem());
    CHECK(descriptions(*offers) == Names{"engine 38 (2=1 13=32), nchw", "engine 1, nchw", "engine 38 (2=1 13=64), nchw",
                                         "engine 0, nchw", "engine 7, nchw"});
    CHECK(offers->counts().listed == 8);
    CHECK(offers->counts().repeated == 3);
    CHECK(offers->refusals().empty());
}

TEST_CASE("engines that compute otherwise than asked are counted and left out") {
    Bench bench(
        "engine A 1 notes=0\n"
        "engine A 2 notes=1\n"
        "engine A 3 notes=2\n"
        "engine A 4 notes=3,4\n"
        "engine A 5 notes=5,6\n");
    const auto strict = bench.offers(small_problem());
    CHECK(descriptions(*strict) == Names{"engine 4, nchw", "engine 5, nchw"});
    CHECK(strict->counts().against_rule == 3);
    const auto tf32 = bench.offers(small_problem(), {.math = CudnnMath::tf32});
    CHECK(descriptions(*tf32) == Names{"engine 1, nchw", "engine 4, nchw", "engine 5, nchw"});
    CHECK_FALSE(strict->build(0).runnable->deterministic);
    CHECK(strict->build(1).runnable->deterministic);
    Problem half = small_problem();
    half.dtype = DataType::f16;
    CHECK(bench.offers(half)->size() == 4);
}

TEST_CASE("an engine that does not build, or needs too much memory, costs itself alone") {
    Bench bench(
        "engine A 1 build=3000\n"
        "engine A 2 workspace=4097\n"
        "engine A 3 workspace=4096\n");
    const auto offers = bench.offers(small_problem(), {.workspace_limit = 4096});
    REQUIRE(offers->size() == 3);
    const CudnnBuild first = offers->build(0);
    CHECK_FALSE(first.runnable.has_value());
    CHECK(first.reason == "cudnnBackendFinalize(execution plan): CUDNN_STATUS_NOT_SUPPORTED (does not build)");
    const CudnnBuild second = offers->build(1);
    CHECK_FALSE(second.runnable.has_value());
    CHECK_THAT(second.reason, contains("4097"));
    const CudnnBuild third = offers->build(2);
    REQUIRE(third.runnable.has_value());
    CHECK(third.runnable->workspace_bytes == 4096);
    CHECK(offers->counts().failed == 1);
    CHECK(offers->counts().over_limit == 1);
}

TEST_CASE("plans built at once are those built one by one") {
    std::string script;
    for (int engine = 0; engine < 40; ++engine)
        script += "engine A " + std::to_string(engine) + (engine % 3 == 0 ? " build=3000\n" : " workspace=64\n");
    Bench bench(script);
    const auto offers = bench.offers(small_problem());
    REQUIRE(offers->size() == 40);
    const std::vector<CudnnBuild> builds = offers->build(5, 30);
    REQUIRE(builds.size() == 30);
    CHECK(offers->counts().failed == 10);
    for (std::size_t i = 0; i < builds.size(); ++i) {
        INFO(i);
        REQUIRE(builds[i].runnable.has_value() == ((i + 5) % 3 != 0));
        if (builds[i].runnable) CHECK(builds[i].runnable->description == offers->description(i + 5));
    }
}

TEST_CASE("heuristics that fail, and graphs that are refused, leave the others") {
    Bench bench("heuristics B 3000\nengine AB 1\n");
    const auto offers = bench.offers(small_problem());
    CHECK(descriptions(*offers) == Names{"engine 1, nchw"});
    REQUIRE(offers->refusals().size() == 1);
    CHECK_THAT(offers->refusals().front(), contains("heuristics B, nchw: "));
    test::use_script("operation 3000\nengine AB 1\n");
    const auto none = bench.offers(small_problem());
    CHECK(none->size() == 0);
    REQUIRE(none->refusals().size() == 1);
    CHECK_THAT(none->refusals().front(), contains("told to"));
}

TEST_CASE("a bias is fused where an engine can, and added behind every other") {
    Bench bench(
        "engine A 1 operations=1\n"
        "engine A 5 operations=2\n");
    CHECK(descriptions(*bench.offers(small_problem(true))) ==
          Names{"engine 5, nchw, bias fused", "engine 1, nchw, bias after"});
}

TEST_CASE("the other layout is offered with transpositions, in a workspace that holds them") {
    Bench bench("engine A 1 workspace=100\n");
    const auto offers = bench.offers(small_problem(), {.layout = CudnnLayout::other});
    CHECK(descriptions(*offers) == Names{"engine 1, nhwc, transposed", "engine 1, nhwc, weight kcrs, transposed"});
    // Input 3 x 20 floats, output 2 x 9 x 11, weight 3 x 2 x 9; parts begin at multiples of 256.
    CHECK(offers->build(1).runnable->workspace_bytes == 512 + 2 * 99 * 4);
    CHECK(offers->build(1).runnable->packed_weight_bytes == 0);
    CHECK(offers->build(0).runnable->workspace_bytes == 512 + 2 * 99 * 4);
    CHECK(offers->build(0).runnable->packed_weight_bytes == 3 * 2 * 9 * 4);
}

TEST_CASE("channels-last weights are what channels-last engines take") {
    Bench bench("engine A 1 workspace=100\n");
    Problem p = small_problem();
    p.layout = Layout::nhwc;
    const auto same = bench.offers(p);
    CHECK(descriptions(*same) == Names{"engine 1, nhwc", "engine 1, nhwc, weight kcrs"});
    CHECK(same->build(0).runnable->workspace_bytes == 100);
    CHECK(same->build(0).runnable->packed_weight_bytes == 0);
    CHECK(same->build(1).runnable->packed_weight_bytes == 3 * 2 * 9 * 4);
    const auto other = bench.offers(p, {.layout = CudnnLayout::other});
    CHECK(descriptions(*other) == Names{"engine 1, nchw, transposed"});
    CHECK(other->build(0).runnable->packed_weight_bytes == 3 * 2 * 9 * 4);
}

TEST_CASE("a problem that cuDNN cannot express is refused") {
    Bench bench("engine A 1\n");
    Problem p = small_problem();
    p.dilation = {1, 4, 1};
    p.output_padding = {0, 3, 0};
    CHECK_THROWS_AS(bench.offers(p), Error);
}

TEST_CASE("an engine that does not run fails as the device does") {
    Bench bench("engine A 1 run=5000\n");
    const Problem p = small_problem();
    const auto build = bench.offers(p)->build(0);
    SupportKernels support(bench.device, bench.builder);
    Validator validator(bench.device, support, p, 5);
    Outcome outcome;
    validator.validate(*build.runnable, 1e-5, outcome);
    CHECK(outcome.kind == OutcomeKind::launch_error);
    CHECK(outcome.reason == "cudnnBackendExecute(plan): CUDNN_STATUS_X (does not run)");
}

TEST_CASE("nothing of the library is left behind") {
    {
        Bench bench("engine AB 1 knobs=1:2\nengine - 2\nengine A 3 build=3000\n");
        std::optional<Runnable> kept;
        {
            const auto offers = bench.offers(small_problem(true), {.layout = CudnnLayout::other});
            for (std::size_t i = 0; i < offers->size(); ++i) {
                if (auto build = offers->build(i); build.runnable) kept = std::move(build.runnable);
            }
        }
        REQUIRE(kept.has_value());
        CHECK(test::live_objects() > 1);
        kept.reset();
        CHECK(test::live_objects() == 1);  // the handle
    }
    CHECK(test::live_objects() == 0);
}

TEST_CASE("random problems are computed right in every layout, with every way to add the bias") {
    Bench bench("engine A 1 workspace=333\n");
    SupportKernels support(bench.device, bench.builder);
    test::Draw draw(31);
    int computed = 0;
    for (int round = 0; round < test::rounds(40); ++round) {
        Problem p = test::draw_problem(draw);
        p.layout = draw.chance(50) ? Layout::nchw : Layout::nhwc;
        p.dtype = std::array{DataType::f32, DataType::f16, DataType::bf16}[static_cast<std::size_t>(round % 3)];
        INFO(key(p));
        if (!cudnn::inexpressible(p).empty()) {
            CHECK_THROWS_AS(bench.offers(p), Error);
            continue;
        }
        Validator validator(bench.device, support, p, 17);
        for (const CudnnLayout layout : {CudnnLayout::same, CudnnLayout::other}) {
            const auto offers = bench.offers(p, {.layout = layout});
            CHECK(offers->size() >= (p.bias ? 2 : 1));
            for (std::size_t i = 0; i < offers->size(); ++i) {
                INFO(offers->description(i));
                const CudnnBuild build = offers->build(i);
                REQUIRE(build.runnable.has_value());
                Outcome outcome;
                validator.validate(*build.runnable, default_tolerance(p.dtype), outcome);
                INFO(outcome.reason);
                CHECK(outcome.kind == OutcomeKind::valid);
                ++computed;
            }
        }
    }
    CHECK(computed > 60);
}
