#include <string>

#include "tests/catch.hpp"
#include "tests/search_spaces/exact.hpp"
#include "tests/support/random_problem.hpp"

using namespace tconv;

TEST_CASE("tiles of phases with unlike numbers of taps are all taken, of few waves and of many") {
    test::Draw draw(157);
    const SearchSpace& hopper = test::space_named("hopper");
    int several_waves = 0;
    int clusters = 0;
    int splits = 0;
    // Less than a wave, a few, too many for a plan; phases without taps; three axes; groups.
    for (const char* text : {"2d n1 ci264 co24 g1 i9x10 k3x3 s2x2 p0x0 op0x0 d1x1 bias f16 nhwc",
                             "2d n2 ci64 co40 g1 i24x24 k3x3 s2x2 p1x1 op1x1 d1x1 nobias bf16 nhwc",
                             "2d n3 ci32 co72 g1 i40x24 k3x2 s2x2 p0x0 op0x0 d1x1 bias f32 nchw",
                             "2d n4 ci40 co16 g1 i33x65 k1x3 s2x2 p0x1 op0x0 d1x1 nobias f16 nhwc",
                             "2d n2 ci256 co40 g1 i12x20 k5x3 s2x2 p1x1 op0x0 d1x1 bias f16 nchw",
                             "1d n5 ci64 co48 g2 i200 k4 s3 p1 op0 d1 bias bf16 nhwc",
                             "3d n1 ci32 co24 g1 i7x9x10 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 bias f16 nhwc"}) {
        const Problem p = parse_key(text);
        for (const char* parameter : {"consumers", "cluster", "splits", "tile_order"}) {
            const auto config =
                test::draw_config(hopper, draw, p, [&, name = std::string(parameter)](const Config& drawn) {
                    return drawn.at("join") == 0 && drawn.at("tile_order") != 2 &&
                           (name == "tile_order" ? drawn.at(name) == 0
                            : name == "consumers"
                                ? drawn.at("consumers") * drawn.at("rows") == 1 && drawn.at("blocks") == 1
                                : drawn.at(name) > 1);
                });
            INFO(text << ", " << parameter);
            if (!config) continue;
            test::check_exact(hopper, draw, p, *config);
            const LaunchPlan plan = hopper.plan(p, test::emulated().device->info(), *config);
            const std::int64_t tile_m = 64 * config->at("consumers") * config->at("rows");
            several_waves += output_elements(p) / p.out_channels / tile_m > 2 * plan.launches.back().grid[0] ? 1 : 0;
            clusters += config->at("cluster") > 1 ? 1 : 0;
            splits += config->at("splits") > 1 ? 1 : 0;
        }
    }
    CHECK(several_waves >= 4);
    CHECK(clusters >= 4);
    CHECK(splits >= 2);
}
