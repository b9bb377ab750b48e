#include <cmath>
#include <string>

#include "kernel_sources/sources.hpp"
#include "tests/catch.hpp"
#include "tests/search_spaces/every_value.hpp"
#include "tests/search_spaces/exact.hpp"
#include "tests/search_spaces/typed_problems.hpp"
#include "tests/support/random_problem.hpp"

using namespace tconv;

namespace {

const SearchSpace& mma() {
    return test::space_named("mma");
}

/// Every value of every sixth parameter from `first` on.
void check_values(std::size_t first) {
    // Problems on which each value has a valid config: wide rows of whole vectors, several phases, taps and channels.
    const std::vector<Problem> problems{
        parse_key("3d n3 ci36 co20 g1 i2x6x16 k2x3x3 s2x1x1 p0x1x0 op0x0x0 d1x1x1 bias f32 nchw"),
        parse_key("1d n2 ci40 co3 g1 i600 k9 s2 p1 op0 d1 bias f16 nchw"),
        parse_key("2d n70 ci80 co40 g1 i2x2 k4x4 s2x2 p1x1 op0x0 d1x1 nobias bf16 nhwc"),
        parse_key("2d n1 ci144 co130 g1 i8x8 k2x2 s2x2 p0x0 op0x0 d1x1 nobias f16 nhwc"),
        parse_key("1d n1 ci70 co20 g1 i260 k3 s1 p1 op0 d1 nobias f32 nhwc"),
        parse_key("3d n1 ci8 co8 g1 i8x8x8 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 nobias f32 nchw"),
        parse_key("2d n2 ci10 co6 g1 i6x20 k2x2 s2x2 p0x0 op0x0 d1x1 bias f32 nchw"),
    };
    test::check_every_value("mma", problems, 59, first, 6);
}

}  // namespace

TEST_CASE("accepted mma configs of random small problems are exact in the emulator") {
    test::Draw draw(53);
    for (int round = 0; round < test::rounds(40); ++round) {
        test::check_drawn(mma(), draw, test::draw_typed_problem(draw), 2);
    }
}

TEST_CASE("every value of every parameter of the mma family is exact in the emulator, first part") {
    check_values(0);
}

TEST_CASE("every value of every parameter of the mma family is exact in the emulator, second part") {
    check_values(1);
}

TEST_CASE("every value of every parameter of the mma family is exact in the emulator, third part") {
    check_values(2);
}

TEST_CASE("every value of every parameter of the mma family is exact in the emulator, fourth part") {
    check_values(3);
}

TEST_CASE("every value of every parameter of the mma family is exact in the emulator, fifth part") {
    check_values(4);
}

TEST_CASE("every value of every parameter of the mma family is exact in the emulator, sixth part") {
    check_values(5);
}

TEST_CASE("the mma family stores rows that begin anywhere within a vector in vectors") {
    test::Draw draw(63);
    for (const char* text : {"1d n2 ci16 co12 g1 i131 k3 s2 p1 op1 d1 bias f16 nchw",
                             "1d n2 ci8 co9 g1 i261 k3 s1 p0 op0 d1 nobias f32 nchw",
                             "2d n2 ci16 co3 g1 i6x17 k4x4 s2x2 p1x1 op1x1 d1x1 bias f32 nchw",
                             "2d n1 ci16 co2 g1 i5x21 k4x4 s4x4 p1x2 op0x3 d1x1 bias bf16 nchw",
                             "2d n1 ci16 co3 g1 i5x33 k3x3 s2x2 p1x1 op0x0 d1x1 bias bf16 nhwc"}) {
        const Problem p = parse_key(text);
        INFO(text);
        for (int i = 0; i < 4; ++i) {
            const auto config = test::draw_config(mma(), draw, p, [&](const Config& drawn) {
                return mma().plan(p, test::emulated().device->info(), drawn).constants.at("store_shifted") == 1;
            });
            REQUIRE(config.has_value());
            test::check_exact(mma(), draw, p, *config);
        }
    }
}

TEST_CASE("warps of the mma family that write windows of rows write every output") {
    test::Draw draw(65);
    for (const char* text : {"1d n2 ci16 co12 g1 i131 k3 s2 p1 op1 d1 bias f16 nchw",
                             "1d n2 ci8 co9 g1 i261 k3 s1 p0 op0 d1 nobias f32 nchw",
                             "1d n1 ci8 co24 g2 i200 k4 s2 p1 op0 d1 bias f32 nchw",
                             "2d n2 ci16 co3 g1 i4x97 k4x4 s2x2 p1x1 op1x1 d1x1 bias f32 nchw",
                             "1d n1 ci16 co2 g1 i90 k8 s4 p2 op0 d1 bias bf16 nhwc"}) {
        const Problem p = parse_key(text);
        INFO(text);
        for (const std::int64_t bytes : {16, 32, 128}) {
            for (int i = 0; i < 2; ++i) {
                const auto config = test::draw_config(
                    mma(), draw, p, [&](const Config& drawn) { return drawn.at("store_window") == bytes; });
                if (!config && bytes == 128) continue;
                REQUIRE(config.has_value());
                test::check_exact(mma(), draw, p, *config);
            }
        }
    }
}

TEST_CASE("what accuracy is asked of the mma family decides which arithmetic it may use") {
    const Problem p = parse_key("2d n2 ci32 co32 g1 i16x16 k4x4 s2x2 p1x1 op0x0 d1x1 nobias f32 nchw");
    const DeviceInfo device = test::emulated().device->info();
    test::Draw draw(61);
    const auto below = [&](std::uint64_t n) {
        return static_cast<std::uint64_t>(draw.between(0, static_cast<std::int64_t>(n) - 1));
    };
    const auto finds = [&](std::int64_t math, const Demand& demand) {
        return mma()
            .draw(
                p, device, below, [&](const Config& config) { return config.at("math") == math; }, demand)
            .has_value();
    };
    constexpr std::int64_t tf32 = 1;
    constexpr std::int64_t tf32_thrice = 2;
    constexpr std::int64_t bf16_thrice = 3;
    for (const std::int64_t math : {tf32, tf32_thrice, bf16_thrice}) {
        CHECK(finds(math, {.tolerance = 1e-2}));
        CHECK(finds(math, {.tolerance = default_tolerance(DataType::f32)}) == (math != tf32));
        CHECK(!finds(math, {.tolerance = 1e-2, .strict = true}));
    }
}
