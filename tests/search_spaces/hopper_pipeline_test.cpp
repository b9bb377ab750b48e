#include <algorithm>

#include "tests/catch.hpp"
#include "tests/search_spaces/exact.hpp"

using namespace tconv;

namespace {

const SearchSpace& hopper() {
    return test::space_named("hopper");
}

}  // namespace

TEST_CASE("weights that stay in shared memory serve every tile of a block") {
    test::Draw draw(101);
    int as_they_lie = 0;
    int in_clusters = 0;
    // One tile of columns and several, steps with boxes of their own and shared ones, more steps than barriers.
    for (const char* text : {"2d n20 ci96 co24 g1 i16x16 k2x2 s2x2 p0x0 op0x0 d1x1 bias f16 nchw",
                             "2d n20 ci64 co48 g1 i16x16 k2x2 s2x2 p0x0 op0x0 d1x1 bias bf16 nhwc",
                             "2d n12 ci40 co24 g1 i20x16 k3x3 s1x1 p1x1 op0x0 d1x1 nobias bf16 nhwc",
                             "3d n6 ci64 co24 g1 i8x10x9 k3x3x4 s1x1x1 p1x1x1 op0x0x0 d1x1x1 bias f16 nhwc",
                             "1d n9 ci32 co40 g1 i300 k5 s1 p2 op0 d1 bias f32 nchw"}) {
        const Problem p = parse_key(text);
        INFO(text);
        test::check_drawn(hopper(), draw, p, 2, [](const Config& drawn) { return drawn.at("resident") == 1; });
        const auto beside = test::draw_config(hopper(), draw, p, [](const Config& drawn) {
            return drawn.at("resident") == 1 && (drawn.at("cluster") == 3 || drawn.at("stagger") == 1);
        });
        REQUIRE(beside.has_value());
        test::check_exact(hopper(), draw, p, *beside);
        const auto shared = test::draw_config(hopper(), draw, p, [](const Config& drawn) {
            return drawn.at("resident") == 1 && drawn.at("cluster") == 3;
        });
        if (shared) test::check_exact(hopper(), draw, p, *shared);
        in_clusters += shared ? 1 : 0;
        const auto raw = test::draw_config(hopper(), draw, p, [](const Config& drawn) {
            return drawn.at("resident") == 1 && drawn.at("raw_weights") == 1;
        });
        if (!raw) continue;
        test::check_exact(hopper(), draw, p, *raw);
        ++as_they_lie;
    }
    CHECK(as_they_lie >= 3);
    CHECK(in_clusters >= 2);
}

TEST_CASE("blocks of a cluster that share weights or input are exact") {
    test::Draw draw(79);
    int split = 0;
    // Odd numbers of boxes, several tiles of columns, phases of different sizes, groups, fewer tiles than blocks and
    // more.
    for (const char* text : {"2d n3 ci256 co72 g1 i5x6 k3x3 s1x1 p1x1 op0x0 d1x1 bias f16 nhwc",
                             "2d n3 ci128 co72 g1 i9x11 k3x3 s2x2 p1x1 op1x1 d1x1 bias f16 nhwc",
                             "2d n3 ci40 co100 g1 i7x9 k4x4 s2x2 p1x1 op0x0 d1x1 bias f32 nchw",
                             "1d n5 ci144 co160 g2 i45 k3 s2 p1 op0 d1 nobias bf16 nchw",
                             "3d n2 ci32 co190 g1 i3x5x6 k3x3x3 s1x1x1 p1x1x1 op0x0x0 d1x1x1 bias f32 nhwc"}) {
        const Problem p = parse_key(text);
        INFO(text);
        for (const int cluster : {2, 3}) {
            for (const bool reuse : {false, true}) {
                for (const bool splits : {false, true}) {
                    const auto config = test::draw_config(hopper(), draw, p, [&](const Config& drawn) {
                        return drawn.at("cluster") == cluster && (drawn.at("reuse") != 0) == reuse &&
                               (drawn.at("splits") > 1) == splits;
                    });
                    if (splits && !config) continue;  // too many tiles, or too few channels
                    REQUIRE(config.has_value());
                    split += splits ? 1 : 0;
                    const LaunchPlan plan = hopper().plan(p, test::emulated().device->info(), *config);
                    CHECK(std::any_of(plan.launches.begin(), plan.launches.end(),
                                      [](const Launch& launch) { return launch.cluster == 2; }));
                    test::check_exact(hopper(), draw, p, *config);
                }
            }
        }
    }
    CHECK(split >= 4);
}

TEST_CASE("warpgroups that begin one after another are exact, whatever their first tile is") {
    test::Draw draw(83);
    // First tiles with fewer steps than lie between warpgroups, or none at all; blocks without any tile.
    for (const char* text : {"2d n2 ci64 co40 g1 i9x9 k1x1 s2x2 p0x0 op1x1 d1x1 bias f16 nhwc",
                             "1d n1 ci32 co24 g1 i70 k2 s3 p1 op0 d1 nobias f32 nchw",
                             "2d n3 ci200 co72 g1 i11x10 k3x3 s2x2 p1x1 op1x1 d1x1 bias bf16 nchw"}) {
        const Problem p = parse_key(text);
        INFO(text);
        for (const int consumers : {2, 3}) {
            for (const int reuse : {0, 1}) {
                const auto config = test::draw_config(hopper(), draw, p, [&](const Config& drawn) {
                    return drawn.at("stagger") == 1 && drawn.at("consumers") == consumers &&
                           (reuse == 0 || drawn.at("reuse") != 0);
                });
                if (reuse != 0 && !config) continue;  // phases have one tap
                REQUIRE(config.has_value());
                test::check_exact(hopper(), draw, p, *config);
            }
        }
    }
}

TEST_CASE("tensors that are read as they lie are exact where blocks of a cluster share them") {
    test::Draw draw(89);
    int input = 0;
    // Odd numbers of boxes and of entries; steps of one box of weights and of several.
    for (const char* text : {"2d n3 ci40 co24 g1 i8x8 k2x2 s2x2 p0x0 op0x0 d1x1 bias f16 nchw",
                             "1d n3 ci130 co64 g2 i200 k8 s8 p3 op0 d1 nobias bf16 nchw",
                             "2d n3 ci70 co128 g1 i9x10 k3x3 s2x2 p1x1 op0x0 d1x1 bias f16 nhwc",
                             "2d n2 ci144 co320 g1 i7x6 k2x2 s2x2 p0x0 op0x0 d1x1 bias bf16 nhwc"}) {
        const Problem p = parse_key(text);
        INFO(text);
        for (const int cluster : {2, 3}) {
            for (const int raw_input : {0, 1}) {
                if (raw_input == 1 && p.layout == Layout::nhwc) continue;
                test::check_drawn(hopper(), draw, p, 1, [&](const Config& drawn) {
                    return drawn.at("cluster") == cluster && drawn.at("raw_weights") == 1 &&
                           drawn.at("raw_input") == raw_input;
                });
                input += raw_input;
            }
        }
    }
    CHECK(input == 4);
}
