#include "tools/tune_options.hpp"

#include "tests/tools/rejects.hpp"

using namespace tconv;
using tests::check_rejection;

namespace {

TuneOptions small_problem() {
    TuneOptions options;
    options.layers.problem.input = std::string("1x2x5");
    options.layers.problem.weight = std::string("2x3x3");
    return options;
}

TuneOptions suite(const char* only) {
    TuneOptions options;
    options.layers.layers = TCONV_LAYER_SUITE;
    options.layers.only = only;
    return options;
}

}  // namespace

TEST_CASE("the flags of a search reach the request") {
    TuneOptions options = small_problem();
    options.tolerance = std::string("1e-3");
    CHECK(!make_requests(options)[0].strict);
    options.strict = true;
    options.trials = std::string("17");
    options.time_limit = std::string("2m");
    options.seed = std::string("9");
    const std::vector<TuneRequest> requests = make_requests(options);
    REQUIRE(requests.size() == 1);
    CHECK(requests[0].tolerance == Approx(1e-3));
    CHECK(requests[0].strict);
    CHECK(requests[0].trials == 17);
    CHECK(requests[0].time_limit_seconds == Approx(120));
    CHECK(requests[0].seed == 9);
    CHECK(requests[0].problem_name.empty());
    CHECK(key(requests[0].problem) == "1d n1 ci2 co3 g1 i5 k3 s1 p0 op0 d1 nobias f32 nchw");
}

TEST_CASE("without --tolerance the session takes the type's own") {
    CHECK(make_requests(small_problem())[0].tolerance < 0);
}

TEST_CASE("layers become requests with their names, in the given type and layout") {
    TuneOptions options = suite("seed1d,volume");
    options.layers.problem.dtype = std::string("bf16");
    options.layers.problem.layout = std::string("nhwc");
    const std::vector<TuneRequest> requests = make_requests(options);
    REQUIRE(requests.size() == 9);
    CHECK(requests[0].problem_name == "seed1d");
    CHECK(requests[1].problem_name == "nnunet_up1");
    for (const TuneRequest& request : requests) {
        CHECK(request.problem.dtype == DataType::bf16);
        CHECK(request.problem.layout == Layout::nhwc);
    }
}

TEST_CASE("flags that make no sense are rejected") {
    check_rejection([] { (void)make_requests(TuneOptions{}); },
                    {"no problem given", "--input and --weight", "--layers"});
    check_rejection(
        [] {
            TuneOptions options = small_problem();
            options.layers.only = std::string("seed1d");
            (void)make_requests(options);
        },
        {"--only", "needs --layers"});
    check_rejection(
        [] {
            TuneOptions options = suite("seed1d");
            options.layers.problem.stride = std::string("2");
            (void)make_requests(options);
        },
        {"--layers", "cannot go with --input"});
    for (const char* trials : {"0", "-1", "many", "", "1000000001", "99999999999999999999"}) {
        check_rejection(
            [&] {
                TuneOptions options = small_problem();
                options.trials = trials;
                (void)make_requests(options);
            },
            {"--trials ("});
    }
}

TEST_CASE("the flag --only names layers and groups that are there") {
    for (const char* only : {"", "nothing", "seed1d,", ",seed1d", "seed1d,nothing", "seed", "SEED1D"})
        check_rejection([&] { (void)make_requests(suite(only)); }, {"--only (", "neither"});
    CHECK(make_requests(suite("seed1d,headline,seed1d")).size() == 2);
}
