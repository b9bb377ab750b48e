#include <string>

#include "device/nvrtc/nvrtc.hpp"
#include "kernel_sources/sources.hpp"
#include "tests/catch.hpp"
#include "tests/search_spaces/exact.hpp"
#include "tests/support/h200.hpp"

using namespace tconv;

TEST_CASE("NVRTC compiles the families of implicit products for every kind of operand and store") {
    const auto compiler = make_nvrtc_compiler();
    test::Draw draw(71);
    for (const char* family : {"fma", "hopper", "mma"}) {
        const SearchSpace& space = test::space_named(family);
        for (const char* text : {"3d n64 ci256 co128 g1 i8x8x8 k4x4x4 s2x2x2 p1x1x1 op0x0x0 d1x1x1 nobias f16 nhwc",
                                 "1d n8 ci384 co192 g1 i32768 k8 s4 p2 op0 d1 bias bf16 nchw",
                                 "2d n8 ci128 co64 g1 i256x256 k2x2 s2x2 p0x0 op0x0 d1x1 bias f32 nchw",
                                 "2d n4 ci512 co256 g1 i64x64 k3x3 s2x2 p0x0 op0x0 d1x1 nobias f32 nhwc"}) {
            const Problem p = parse_key(text);
            for (int i = 0; i < 2; ++i) {
                const auto config = test::draw_config(
                    space, draw, p, [](const Config&) { return true; }, test::h200());
                REQUIRE(config.has_value());
                INFO(family << " " << text << " | " << to_string(*config));
                const LaunchPlan plan = space.plan(p, test::h200(), *config);
                check_plan(plan, p, test::h200());
                CompileRequest request;
                request.name = plan.source_file;
                request.source = specialise(plan, p, *config);
                request.kernels = kernel_names(plan);
                request.architecture = "sm_90a";
                const CompileResult compiled = compiler->compile(request);
                INFO(compiled.log);
                CHECK(compiled.ok);
            }
        }
    }
}
