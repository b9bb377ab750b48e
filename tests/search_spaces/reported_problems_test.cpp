// Problems with which other tools were reported to give wrong values or to crash: every family that takes one must
// compute it exactly. Sources are the issues of the repositories named beside them.
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/search_spaces/exact.hpp"
#include "tests/support/h200.hpp"

using namespace tconv;

namespace {

/// Runs a default and a random config of each family that takes the problem.
void check_families(const std::string& text, test::Draw& draw) {
    const Problem p = parse_key(text);
    validate(p);
    INFO(text);
    int families = 0;
    for (const SearchSpace& space : load_search_spaces()) {
        const DeviceInfo& device = test::emulated().device->info();
        if (!space.refusal(p, device).empty()) continue;
        ++families;
        INFO(space.name());
        test::check_drawn(space, draw, p, 1);
    }
    CHECK(families > 0);
}

void check_all(const std::vector<std::string>& keys, std::uint64_t seed) {
    test::Draw draw(seed);
    for (const std::string& text : keys)
        check_families(text, draw);
}

/// Output of a config on given tensors.
std::vector<double> computed(const SearchSpace& space, const Config& config, const Problem& p,
                             const std::vector<double>& input, const std::vector<double>& weight) {
    Device& device = *test::emulated().device;
    const LaunchPlan plan = space.plan(p, device.info(), config);
    const auto module = test::emulated().build(specialise(plan, p, config), kernel_names(plan));
    const test::OnDevice in(device, test::elements_of(p.dtype, input));
    const test::OnDevice w(device, test::elements_of(p.dtype, weight));
    const auto count = static_cast<std::size_t>(output_elements(p));
    const test::OnDevice out(device, std::vector<std::uint8_t>(count * 4, 0xff));
    const test::OnDevice workspace(
        device, std::vector<std::uint8_t>(static_cast<std::size_t>(workspace_for(plan, p.batch)), 0xff));
    const test::OnDevice packed(device,
                                std::vector<std::uint8_t>(static_cast<std::size_t>(plan.packed_weight_bytes), 0xff));
    launch_plan(device, *module, plan, p.batch,
                {in.address(), w.address(), 0, out.address(), workspace.address(), packed.address()});
    device.synchronize();
    const auto bytes = out.read();
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i)
        values.push_back(test::element_at(p.dtype, bytes, i));
    return values;
}

void check_values(const std::string& text, const std::vector<double>& input, const std::vector<double>& weight,
                  const std::vector<double>& expected) {
    const Problem p = parse_key(text);
    test::Draw draw(67);
    int families = 0;
    for (const SearchSpace& space : load_search_spaces()) {
        if (!space.refusal(p, test::emulated().device->info()).empty()) continue;
        INFO(space.name());
        const auto config = test::draw_config(space, draw, p, [](const Config&) { return true; });
        REQUIRE(config.has_value());
        CHECK(computed(space, *config, p, input, weight) == expected);
        ++families;
    }
    CHECK(families > 0);
}

}  // namespace

TEST_CASE("stride and dilation with a common factor give the values that a hand computes") {
    // pytorch/pytorch 1565
    check_values("1d n1 ci1 co1 g1 i6 k3 s2 p1 op1 d2 nobias f32 nchw", std::vector<double>(6, 1), {1, 1, 1},
                 {0, 2, 0, 3, 0, 3, 0, 3, 0, 3, 0, 2, 0, 1});
    // apache/mxnet 11203: an impulse in the middle shows the kernel, spread by the dilation.
    check_values("2d n1 ci1 co1 g1 i3x3 k3x3 s2x2 p2x2 op0x0 d2x2 nobias f32 nchw", {0, 0, 0, 0, 1, 0, 0, 0, 0},
                 {1, 2, 3, 4, 5, 6, 7, 8, 9},
                 {1, 0, 2, 0, 3, 0, 0, 0, 0, 0, 4, 0, 5, 0, 6, 0, 0, 0, 0, 0, 7, 0, 8, 0, 9});
}

TEST_CASE("problems that other tools computed wrongly are exact in every family") {
    check_all(
        {
            "2d n1 ci16 co3 g1 i7x7 k3x3 s2x2 p1x1 op1x1 d1x1 nobias f32 nchw",             // apache/tvm 19524
            "2d n2 ci3 co4 g1 i4x5 k3x2 s2x1 p0x1 op1x2 d2x3 bias f32 nchw",                // pytorch/pytorch 5112
            "3d n1 ci8 co4 g1 i4x4x5 k4x4x4 s2x2x2 p1x1x1 op0x0x0 d1x1x1 nobias f32 nchw",  // pytorch/pytorch 137970
            "1d n2 ci3 co5 g1 i7 k1 s3 p1 op2 d1 nobias f32 nchw",                          // pytorch/pytorch 51185
            "3d n3 ci4 co8 g1 i3x4x5 k2x2x2 s2x2x2 p0x0x0 op0x0x0 d1x1x1 bias f32 nhwc",    // FluxML/Flux.jl 978
            "2d n2 ci20 co12 g1 i5x6 k3x3 s2x2 p1x1 op1x1 d1x1 bias f16 nchw",              // PaddlePaddle/Paddle 24695
            "2d n2 ci6 co4 g2 i5x4 k3x2 s1x2 p1x0 op0x1 d3x2 bias f32 nchw",                // jax-ml/jax 33419
        },
        71);
}

TEST_CASE("problems on which other tools crashed are exact in every family") {
    check_all(
        {
            "3d n1 ci1 co16 g1 i5x5x5 k5x5x5 s2x2x2 p2x2x2 op1x1x1 d1x1x1 nobias f32 nchw",  // pytorch/pytorch 32866
            "2d n2 ci8 co8 g8 i6x7 k8x8 s4x4 p2x2 op0x0 d1x1 nobias f32 nchw",               // ROCm/pytorch 587
            "2d n2 ci32 co24 g1 i5x5 k2x2 s2x2 p0x0 op0x0 d1x1 nobias f16 nchw",             // ROCm/MIOpen 2459
            "2d n1 ci3 co3 g3 i5x5 k3x3 s1x1 p0x0 op0x0 d1x1 nobias bf16 nchw",              // pytorch/TensorRT 3344
            "2d n1 ci6 co4 g1 i8x5 k8x1 s4x1 p0x0 op0x0 d1x1 nobias f32 nchw",               // modular/modular 6726
            "1d n2 ci9 co1 g1 i12 k64 s16 p0 op0 d1 nobias f32 nchw",   // a small one of NVIDIA/TensorRT-RTX-EP-ABI 8
            "1d n1 ci10 co2 g1 i40 k1 s200 p0 op0 d1 nobias f32 nchw",  // a small one of pytorch/pytorch 144611
        },
        73);
}

TEST_CASE("problems at the edge of the rules are exact in every family") {
    check_all(
        {
            "3d n1 ci5 co3 g1 i1x1x1 k1x1x1 s1x1x1 p0x0x0 op0x0x0 d1x1x1 bias f32 nchw",
            "2d n2 ci4 co6 g2 i1x2 k5x7 s1x1 p1x2 op0x0 d2x1 nobias bf16 nhwc",  // kernel larger than input
            "2d n1 ci3 co2 g1 i6x5 k2x2 s2x2 p3x2 op0x0 d1x1 nobias f32 nchw",   // whole rows cropped
            "2d n1 ci4 co5 g1 i3x4 k2x1 s5x4 p0x1 op4x3 d1x1 bias f32 nchw",     // phases without taps
            "1d n3 ci17 co3 g1 i11 k4 s6 p2 op3 d4 nobias f16 nhwc",             // a common factor, and taps left out
            "1d n70000 ci1 co1 g1 i2 k2 s1 p0 op0 d1 nobias f32 nchw",           // batch beyond a grid's y and z
        },
        79);
}

TEST_CASE("problems too large for 32-bit indices or small grids have a legal plan in a family beside the reference") {
    test::Draw draw(83);
    for (const char* text : {
             "3d n1 ci32 co1 g1 i192x256x512 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 nobias f32 nchw",  // pytorch/pytorch
                                                                                                    // 1664
             "3d n1 ci8 co1 g1 i128x512x512 k4x4x4 s2x2x2 p1x1x1 op0x0x0 d1x1x1 nobias f32 nchw",
             "2d n1024 ci1 co1 g1 i1024x1024 k1x1 s1x1 p0x0 op0x0 d1x1 nobias f16 nchw",  // pytorch/pytorch 31500
             "2d n1 ci10 co2 g1 i40000x2 k1x1 s200x200 p0x0 op0x0 d1x1 nobias f32 nchw",  // pytorch/pytorch 144611
             "3d n1 ci1 co128 g1 i52x52x52 k5x5x5 s2x2x2 p2x2x2 op1x1x1 d1x1x1 nobias f32 nchw",  // pytorch/pytorch
                                                                                                  // 32866
             "1d n12 ci2049 co1 g1 i340 k4096 s1024 p0 op0 d1 nobias f32 nchw",  // NVIDIA/TensorRT-RTX-EP-ABI 8
             "2d n100000 ci4 co4 g1 i40x40 k3x3 s1x1 p0x0 op0x0 d1x1 nobias bf16 nhwc",
         }) {
        const Problem p = parse_key(text);
        validate(p);
        INFO(text);
        int families = 0;
        for (const SearchSpace& space : load_search_spaces()) {
            if (!space.refusal(p, test::h200()).empty()) continue;
            const auto config = test::draw_config(
                space, draw, p, [](const Config&) { return true; }, test::h200());
            if (!config) continue;
            check_plan(space.plan(p, test::h200(), *config), p, test::h200());
            ++families;
        }
        CHECK(families > 0);
    }
}
