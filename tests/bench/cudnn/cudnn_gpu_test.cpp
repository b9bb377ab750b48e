#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "bench/cudnn/convolution.hpp"
#include "bench/cudnn/cudnn.hpp"
#include "core/error.hpp"
#include "device/nvrtc/nvrtc.hpp"
#include "tests/catch.hpp"
#include "tests/device/driver/require_gpu.hpp"
#include "tests/support/random_problem.hpp"
#include "tuner/validator.hpp"

using namespace tconv;

namespace {

constexpr std::size_t k_most_built = 6;  // a problem and layout

void require_cudnn() {
    require_gpu();
    const CudnnStatus status = cudnn_status();
    if (status.available) {
        std::printf("cuDNN %s, %s\n", status.version.c_str(), status.path.c_str());
        return;
    }
    std::printf("Skipped: %s\n", status.reason.c_str());
    std::fflush(stdout);
    std::_Exit(77);
}

/// All indices, in an order that soon has some of every part: neighbours are settings of one engine.
std::vector<std::size_t> spread(std::size_t size) {
    const std::size_t step = std::max<std::size_t>(1, size / k_most_built);
    std::vector<std::size_t> order;
    for (std::size_t first = 0; first < step; ++first) {
        for (std::size_t index = first; index < size; index += step)
            order.push_back(index);
    }
    return order;
}

/// Some of cuDNN's engines are less exact than their notes say, or wrong. The bench drops those; our driving of them
/// may not be what is wrong.
bool is_their_fault(const Outcome& outcome) {
    return outcome.kind == OutcomeKind::wrong_result;
}

struct Gpu {
    std::unique_ptr<Device> device = open_cuda_device(0);
    std::unique_ptr<Compiler> compiler = make_nvrtc_compiler();
    Builder builder{*compiler, device->info()};
    SupportKernels support{*device, builder};
    std::unique_ptr<Cudnn> cudnn = open_cudnn(*device, builder);

    /// Validates some offers that build; returns how many were valid.
    int validate_offers(const Problem& problem, const CudnnRequest& request, double tolerance) {
        INFO(key(problem));
        Validator validator(*device, support, problem, 23);
        const auto offers = cudnn->offers(problem, request);
        for (const std::string& refusal : offers->refusals())
            std::printf("  %s: %s\n", key(problem).c_str(), refusal.c_str());
        int valid = 0;
        std::size_t built = 0;
        for (const std::size_t index : spread(offers->size())) {
            if (built == k_most_built) break;
            const CudnnBuild build = offers->build(index);
            if (!build.runnable) continue;
            ++built;
            Outcome outcome;
            validator.validate(*build.runnable, tolerance, outcome);
            INFO(build.runnable->description << ": " << outcome.reason);
            CHECK((outcome.kind == OutcomeKind::valid || is_their_fault(outcome)));
            valid += outcome.kind == OutcomeKind::valid ? 1 : 0;
        }
        // A layout, a padding or a bias handed over wrongly makes most of them wrong.
        CHECK(2 * valid >= static_cast<int>(built));
        const CudnnCounts& counts = offers->counts();
        std::printf("  %s %s: %d listed, %d repeated, %d against the rule, %zu built, %d failed, %d valid\n",
                    key(problem).c_str(), request.layout == CudnnLayout::same ? "same" : "other", counts.listed,
                    counts.repeated, counts.against_rule, built, counts.failed, valid);
        return valid;
    }
};

/// Larger than the other tests' random problems: the engines for tensor cores want some channels.
Problem draw_problem(test::Draw& draw, int round) {
    Problem p = test::draw_problem(draw);
    p.dtype = std::array{DataType::f32, DataType::f16, DataType::bf16}[static_cast<std::size_t>(round % 3)];
    p.layout = draw.chance(50) ? Layout::nchw : Layout::nhwc;
    if (draw.chance(60)) {
        p.in_channels = p.groups * 8 * draw.between(1, 4);
        p.out_channels = p.groups * 8 * draw.between(1, 4);
    }
    return p;
}

}  // namespace

TEST_CASE("on a GPU what cuDNN offers for random problems is right") {
    require_cudnn();
    Gpu gpu;
    test::Draw draw(61);
    int valid = 0;
    for (int round = 0; round < test::rounds(30); ++round) {
        const Problem p = draw_problem(draw, round);
        if (!cudnn::inexpressible(p).empty()) continue;
        for (const CudnnLayout layout : {CudnnLayout::same, CudnnLayout::other})
            valid += gpu.validate_offers(p, {.layout = layout}, default_tolerance(p.dtype));
    }
    CHECK(valid > 60);
}

TEST_CASE("on a GPU a layer of usual size has offers in every layout and type") {
    require_cudnn();
    Gpu gpu;
    for (const char* shape : {"2d n8 ci64 co64 g1 i32x32 k4x4 s2x2 p1x1 op0x0 d1x1 bias",
                              "3d n2 ci32 co32 g1 i16x16x16 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 bias",
                              "1d n4 ci64 co32 g1 i4000 k8 s4 p2 op0 d1 bias",
                              "2d n4 ci32 co32 g32 i16x16 k3x3 s2x2 p1x1 op1x1 d1x1 nobias"}) {
        for (const char* type : {"f32 nchw", "f32 nhwc", "f16 nchw", "f16 nhwc", "bf16 nchw", "bf16 nhwc"}) {
            const Problem p = parse_key(std::string(shape) + " " + type);
            int valid = 0;
            for (const CudnnLayout layout : {CudnnLayout::same, CudnnLayout::other})
                valid += gpu.validate_offers(p, {.layout = layout}, default_tolerance(p.dtype));
            CHECK((valid > 0 || p.groups > 1));
        }
    }
}

TEST_CASE("on a GPU strict fp32 is as exact as fp32, and TF32 as its rounding of inputs allows") {
    require_cudnn();
    Gpu gpu;
    const Problem p = parse_key("2d n8 ci64 co64 g1 i32x32 k4x4 s2x2 p1x1 op0x0 d1x1 nobias f32 nhwc");
    CHECK(gpu.validate_offers(p, {.math = CudnnMath::strict}, 1e-5) > 0);
    CHECK(gpu.validate_offers(p, {.math = CudnnMath::tf32}, 2e-3) > 0);
}
