#include "bench/peer_search.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/error.hpp"
#include "kernel_sources/reference.hpp"
#include "tests/bench/runs_for_tests.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/emulated.hpp"
#include "tuner/evaluate.hpp"

using namespace tconv;

namespace {

/// What a made-up way of computing does.
enum class Way { right, slow, wrong, does_not_build, fails_when_run, right_and_large, packs_slowly };

/// A library whose every way is the reference kernel with a fault; the other layout's come after the first's.
class MadeUpLibrary final : public Cudnn {
public:
    MadeUpLibrary(Device& device, Module& reference, std::vector<Way> same, std::vector<Way> other)
        : device_(device), reference_(reference), same_(std::move(same)), other_(std::move(other)) {}

    const CudnnStatus& status() const override { return status_; }
    std::unique_ptr<CudnnOffers> offers(const Problem& problem, const CudnnRequest& request) override;
    bool inexpressible = false;

private:
    Device& device_;
    Module& reference_;
    std::vector<Way> same_, other_;
    CudnnStatus status_;
};

class MadeUpOffers final : public CudnnOffers {
public:
    MadeUpOffers(Device& device, Module& reference, const Problem& problem, std::vector<Way> ways)
        : device_(device),
          reference_(reference),
          problem_(problem),
          plan_(reference_plan(problem)),
          ways_(std::move(ways)) {}

    std::size_t size() const override { return ways_.size(); }
    std::string description(std::size_t index) const override { return "way " + std::to_string(index); }
    const CudnnCounts& counts() const override { return counts_; }
    const std::vector<std::string>& refusals() const override { return refusals_; }

    std::vector<CudnnBuild> build(std::size_t first, std::size_t count) override {
        std::vector<CudnnBuild> builds;
        for (std::size_t i = first; i < first + count; ++i)
            builds.push_back(build_one(ways_[i]));
        return builds;
    }

private:
    CudnnBuild build_one(Way way) const {
        if (way == Way::does_not_build) return {std::nullopt, "not on a Tuesday"};
        Runnable runnable;
        runnable.description = std::to_string(static_cast<int>(way));
        runnable.workspace_bytes = way == Way::right_and_large ? 1 << 20 : 0;
        // Everything by value: a runnable may outlive its offers.
        runnable.launch = [&device = device_, &reference = reference_, problem = problem_, plan = plan_,
                           way](const CallTensors& tensors) {
            if (way == Way::fails_when_run) throw Error(ErrorKind::device, "CUDNN_STATUS_EXECUTION_FAILED");
            if (way == Way::slow) std::this_thread::sleep_for(std::chrono::milliseconds(30));
            launch_plan(device, reference, plan, problem.batch, tensors);
            if (way == Way::wrong) device.fill(tensors.output, 0, sizeof(float));
        };
        if (way == Way::packs_slowly) {
            runnable.pack = [](const CallTensors&) { std::this_thread::sleep_for(std::chrono::milliseconds(100)); };
            runnable.launch_packed = runnable.launch;
            runnable.launch = [pack = runnable.pack, launch = runnable.launch_packed](const CallTensors& tensors) {
                pack(tensors);
                launch(tensors);
            };
        }
        return {std::move(runnable), {}};
    }

    Device& device_;
    Module& reference_;
    Problem problem_;
    LaunchPlan plan_;
    std::vector<Way> ways_;
    CudnnCounts counts_;
    std::vector<std::string> refusals_;
};

std::unique_ptr<CudnnOffers> MadeUpLibrary::offers(const Problem& problem, const CudnnRequest& request) {
    if (inexpressible) throw Error(ErrorKind::bad_input, "output_padding is beyond words");
    return std::make_unique<MadeUpOffers>(device_, reference_, problem,
                                          request.layout == CudnnLayout::same ? same_ : other_);
}

struct Search {
    test::Emulated& emulated = test::emulated();
    Builder builder{*emulated.compiler, emulated.device->info()};
    SupportKernels support{*emulated.device, builder};
    Timer timer{*emulated.device};
    Validator validator{*emulated.device, support, test::bench_problem(), 1};

    PeerFinalists run(const std::vector<Way>& same, const std::vector<Way>& other, std::size_t count,
                      bool inexpressible = false, bool weights_prepared = false) {
        MadeUpLibrary library(*emulated.device, support.reference_module(), same, other);
        library.inexpressible = inexpressible;
        return search_peer({&library, "", std::int64_t{1} << 30, weights_prepared, {}}, Mode::fp32, *emulated.device,
                           validator, timer, count, {});
    }
};

std::string name(Way way) {
    return std::to_string(static_cast<int>(way));
}

}  // namespace

TEST_CASE("the fastest right way wins over slow, wrong and failing ones") {
    Search search;
    const PeerFinalists found = search.run(
        {Way::does_not_build, Way::slow, Way::wrong, Way::fails_when_run, Way::right, Way::wrong}, {Way::slow}, 1);
    REQUIRE(found.finalists.size() == 1);
    CHECK(found.finalists[0].runnable.description == name(Way::right));
    CHECK(found.finalists[0].error < 1e-6);
    CHECK(found.finalists[0].milliseconds > 0);
    CHECK(found.offered == 7);
    // The wrong ones count only where they were fast enough to be looked at.
    CHECK(found.failed >= 2);
    CHECK(found.reason.empty());
}

TEST_CASE("a way in the other layout can win, with the workspace that it asks for") {
    Search search;
    const PeerFinalists found = search.run({Way::slow, Way::wrong}, {Way::right_and_large}, 1);
    REQUIRE(found.finalists.size() == 1);
    CHECK(found.finalists[0].runnable.workspace_bytes == 1 << 20);
}

TEST_CASE("of a problem in an earlier run only the ways that were fastest there are built, where one is right") {
    Search search;
    MadeUpLibrary library(*search.emulated.device, search.support.reference_module(),
                          {Way::slow, Way::right, Way::wrong}, {Way::right_and_large});
    BenchRun earlier;
    BenchResult& result = earlier.results.emplace_back();
    result.problem = test::bench_problem();
    result.mode = Mode::strict;
    result.peer.emplace().description = "way 0";
    const auto names = [&](Mode mode) {
        Peer peer;
        peer.library = &library;
        peer.known = KnownWays({earlier});
        std::vector<std::string> found;
        for (const auto& finalist :
             search_peer(peer, mode, *search.emulated.device, search.validator, search.timer, 4, {}).finalists)
            found.push_back(finalist.runnable.description);
        std::sort(found.begin(), found.end());
        return found;
    };
    // Way 0 of either layout; fp32 has the same ways as strict, TF32 others.
    const std::vector<std::string> first{name(Way::slow), name(Way::right_and_large)};
    const std::vector<std::string> all{name(Way::right), name(Way::slow), name(Way::right_and_large)};
    CHECK(names(Mode::fp32) == first);
    CHECK(names(Mode::tf32) == all);
    result.peer->description = "way 2";  // wrong
    CHECK(names(Mode::fp32) == all);
    result.peer->description = "of another library";
    CHECK(names(Mode::fp32) == all);
    result.peer.reset();
    CHECK(names(Mode::fp32) == all);
}

TEST_CASE("laying out the weights is part of the call unless they are prepared") {
    Search search;
    const std::vector<Way> ways{Way::packs_slowly, Way::slow};
    const PeerFinalists each_call = search.run(ways, {}, 1);
    REQUIRE(each_call.finalists.size() == 1);
    CHECK(each_call.finalists[0].runnable.description == name(Way::slow));
    const PeerFinalists prepared = search.run(ways, {}, 1, false, true);
    REQUIRE(prepared.finalists.size() == 1);
    CHECK(prepared.finalists[0].runnable.description == name(Way::packs_slowly));
}

TEST_CASE("where nothing is right the reason says so") {
    Search search;
    const PeerFinalists wrong = search.run({Way::wrong}, {Way::does_not_build}, 2);
    CHECK(wrong.finalists.empty());
    CHECK(wrong.failed == 2);
    CHECK_THAT(wrong.refused, contains(name(Way::wrong) + ", ") && contains(" ms: "));
    CHECK_THAT(wrong.reason, contains("none of the 2 ways"));
    CHECK_THAT(search.run({}, {}, 2).reason, contains("offers no engine"));
    CHECK_THAT(search.run({}, {}, 2, true).reason, contains("beyond words"));
}
