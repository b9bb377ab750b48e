#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "tests/catch.hpp"
#include "tests/search_spaces/every_value.hpp"
#include "tests/search_spaces/exact.hpp"
#include "tests/search_spaces/typed_problems.hpp"

using namespace tconv;

namespace {

const SearchSpace& hopper() {
    return test::space_named("hopper");
}
/// Of configs that leave out zeros along all axes.
const SearchSpace& all_axes() {
    static const SearchSpace space = test::space_with("hopper", "part_axes", 3);
    return space;
}

/// The parts of a config's tiles along depth, height and width.
std::array<std::int64_t, 3> parts_of(const Problem& p, const Config& config) {
    const auto constants = hopper().plan(p, test::emulated().device->info(), config).constants;
    return {constants.at("column_parts_d"), constants.at("column_parts_h"), constants.at("column_parts_w")};
}
std::int64_t product(const std::array<std::int64_t, 3>& parts) {
    return parts[0] * parts[1] * parts[2];
}

/// A config with `least` parts that has at least such a value of a parameter.
std::optional<Config> draw_parts(test::Draw& draw, const Problem& p, std::int64_t least, const std::string& parameter,
                                 std::int64_t value) {
    return test::draw_config(least > 2 ? all_axes() : hopper(), draw, p, [&](const Config& drawn) {
        return drawn.at(parameter) >= value && product(parts_of(p, drawn)) >= least;
    });
}

/// A problem with joined phases that lack taps, small enough for the emulator.
Problem draw_joined(test::Draw& draw) {
    Problem p;
    p.spatial_axes = static_cast<int>(draw.between(1, 3));
    p.groups = 1;
    p.batch = draw.between(1, 3);
    p.in_channels = draw.between(4, 9) * 8;
    p.bias = draw.chance(50);
    p.dtype = std::array{DataType::f32, DataType::f16, DataType::bf16}.at(static_cast<std::size_t>(draw.between(0, 2)));
    p.layout = draw.chance(50) ? Layout::nchw : Layout::nhwc;
    std::int64_t phases = 1;
    for (auto axis = static_cast<std::size_t>(3 - p.spatial_axes); axis < 3; ++axis) {
        p.stride[axis] = p.spatial_axes == 3 ? 2 : draw.between(2, 4);
        p.kernel[axis] = draw.between(1, 3) * 2 + 1;
        if (p.kernel[axis] < p.stride[axis]) p.kernel[axis] += 2;
        p.padding[axis] = draw.between(0, p.kernel[axis] / 2);
        p.output_padding[axis] = draw.between(0, p.stride[axis] - 1);
        p.input[axis] = draw.between(2, p.spatial_axes == 1 ? 50 : p.spatial_axes == 2 ? 8 : 5);
        phases *= p.stride[axis];
    }
    // Phases of 32 columns and of 64.
    p.out_channels = phases > 9 ? 32 : 32 * draw.between(1, 2);
    return p;
}

}  // namespace

TEST_CASE("joined phases multiply only where they have taps, whatever kernel and stride") {
    test::Draw draw(211);
    std::array<int, 3> along{};  // an axis, with parts
    int several = 0;
    for (int round = 0; round < test::rounds(24); ++round) {
        const Problem p = draw_joined(draw);
        auto config = draw_parts(draw, p, p.spatial_axes > 1 ? 4 : 2, "join", 1);
        if (!config) config = draw_parts(draw, p, 2, "join", 1);
        INFO(key(p));
        if (!config) continue;  // kernels of whole strides
        const auto parts = parts_of(p, *config);
        for (std::size_t axis = 0; axis < 3; ++axis) {
            along.at(axis) += parts.at(axis) > 1 ? 1 : 0;
            CHECK((parts.at(axis) == 1 || p.kernel.at(axis) % p.stride.at(axis) != 0 || config->at("join") >= 5));
        }
        several += product(parts) >= 4 ? 1 : 0;
        test::check_exact(hopper(), draw, p, *config);
    }
    CHECK(along[0] >= 1);
    CHECK(along[1] >= 3);
    CHECK(along[2] >= 10);
    CHECK(several >= 4);
}

TEST_CASE("steps of some parts alone are exact for whatever else a config does") {
    test::Draw draw(223);
    std::array<int, 12> seen{};
    const std::array<std::pair<const char*, int>, 12> wanted{{{"join", 3},
                                                              {"join", 7},
                                                              {"reuse", 1},
                                                              {"reuse", 3},
                                                              {"reuse", 4},
                                                              {"block_pack", 1},
                                                              {"block_pack", 2},
                                                              {"resident", 1},
                                                              {"cluster", 2},
                                                              {"cluster", 3},
                                                              {"splits", 2},
                                                              {"raw_weights", 1}}};
    // Eight parts of 32 columns in three dimensions, four of 32 and 64 in two; several tiles of columns; parts along
    // some axes, of one slot and of two; a kernel of whole strides that an aligned axis shifts.
    for (const char* text : {"3d n1 ci64 co32 g1 i3x4x8 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 bias f16 nhwc",
                             "3d n2 ci72 co32 g1 i2x3x5 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 bias f16 nchw",
                             "3d n1 ci64 co32 g1 i2x3x8 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 nobias f32 nchw",
                             "2d n3 ci256 co64 g1 i9x8 k3x3 s2x2 p1x1 op1x1 d1x1 bias f16 nchw",
                             "2d n3 ci256 co128 g1 i5x8 k3x3 s2x2 p0x0 op0x0 d1x1 nobias bf16 nhwc",
                             "2d n2 ci72 co64 g1 i5x9 k5x3 s2x2 p2x1 op1x1 d1x1 nobias f16 nhwc",
                             "2d n2 ci128 co64 g2 i7x6 k5x3 s2x2 p2x1 op1x0 d1x1 bias f32 nhwc",
                             "2d n2 ci64 co64 g1 i5x8 k3x4 s2x2 p1x1 op1x0 d1x1 bias bf16 nchw",
                             "2d n2 ci64 co32 g1 i4x5 k6x7 s4x4 p1x3 op0x3 d1x1 bias f16 nhwc",
                             "1d n2 ci256 co96 g1 i70 k5 s4 p2 op1 d1 bias f16 nhwc"}) {
        const Problem p = parse_key(text);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            const auto [parameter, least] = wanted.at(i);
            INFO(text << ", " << parameter << " " << least);
            const auto config = draw_parts(draw, p, p.spatial_axes == 1 ? 2 : 4, parameter, least);
            if (!config) continue;
            test::check_exact(hopper(), draw, p, *config);
            ++seen.at(i);
        }
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        INFO(wanted.at(i).first << " " << wanted.at(i).second);
        CHECK(seen.at(i) >= 2);
    }
}

TEST_CASE("stages with room for the weights of their own steps alone are exact") {
    test::Draw draw(233);
    int checked = 0;
    // Three dimensions and two; several blocks of channels, so that stages are filled again; two steps along the width
    // and three.
    for (const char* text : {"3d n2 ci64 co32 g1 i3x4x10 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 bias f32 nchw",
                             "3d n2 ci200 co32 g1 i3x4x6 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 bias f16 nhwc",
                             "2d n3 ci136 co64 g1 i9x12 k3x3 s2x2 p1x1 op1x1 d1x1 bias f32 nchw",
                             "2d n3 ci136 co64 g1 i9x8 k3x5 s2x2 p1x2 op1x1 d1x1 bias f16 nchw"}) {
        const Problem p = parse_key(text);
        for (const auto& [parameter, least] : {std::pair("join", 3), std::pair("reuse", 1), std::pair("cluster", 2),
                                               std::pair("splits", 2), std::pair("block_pack", 1)}) {
            INFO(text << ", " << parameter);
            const auto config = test::draw_config(
                all_axes(), draw, p, [&, name = std::string(parameter), from = least](const Config& drawn) {
                    return drawn.at(name) >= from &&
                           hopper().plan(p, test::emulated().device->info(), drawn).constants.at("unlike_stages") == 1;
                });
            if (!config) continue;
            test::check_exact(hopper(), draw, p, *config);
            ++checked;
        }
    }
    CHECK(checked >= 8);
}

TEST_CASE("channels-last positions whose outputs begin at a multiple of the stride are exact") {
    test::Draw draw(229);
    int raw = 0;
    int other = 0;
    // Paddings below the stride and above, three phases of which one begins later, or two; kernels of whole strides.
    for (const char* text : {"2d n2 ci72 co64 g1 i5x8 k3x3 s2x2 p1x1 op1x1 d1x1 bias f16 nhwc",
                             "2d n2 ci64 co64 g1 i6x7 k5x7 s2x2 p1x3 op0x1 d1x1 nobias bf16 nhwc",
                             "2d n1 ci80 co64 g1 i5x6 k3x5 s1x3 p1x1 op0x2 d1x1 bias f16 nhwc",
                             "1d n3 ci64 co64 g1 i40 k4 s2 p1 op0 d1 bias f16 nhwc",
                             "1d n2 ci128 co32 g1 i30 k7 s3 p2 op0 d1 bias f32 nhwc",
                             "3d n1 ci64 co32 g1 i2x3x6 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 bias f16 nhwc"}) {
        const Problem p = parse_key(text);
        for (const int join : {5, 7}) {
            for (const bool as_they_lie : {false, true}) {
                INFO(text << ", join " << join << (as_they_lie ? ", raw weights" : ""));
                const auto config = test::draw_config(hopper(), draw, p, [&](const Config& drawn) {
                    return drawn.at("join") == join && (drawn.at("raw_weights") == 1) == as_they_lie;
                });
                if (!config) continue;
                test::check_exact(hopper(), draw, p, *config);
                (as_they_lie ? raw : other) += 1;
            }
        }
    }
    CHECK(raw >= 4);
    CHECK(other >= 6);
}

TEST_CASE("weights of joined phases are packed, and stay in shared memory, without those that are zero") {
    // 27 of 64 products in three dimensions, 9 of 16 in two.
    for (const auto& [text, taps, channels] :
         {std::tuple("3d n4 ci64 co32 g1 i8x8x8 k3x3x3 s2x2x2 p1x1x1 op1x1x1 d1x1x1 bias f16 nhwc", 27, 32),
          std::tuple("2d n4 ci64 co64 g1 i16x16 k3x3 s2x2 p1x1 op1x1 d1x1 bias f16 nhwc", 9, 64)}) {
        test::Draw draw(227);
        const Problem p = parse_key(text);
        INFO(text);
        const auto config = test::draw_config(hopper(), draw, p, [&](const Config& drawn) {
            const auto parts = parts_of(p, drawn);
            return drawn.at("resident") == 1 && drawn.at("raw_weights") == 0 &&
                   product(parts) == (p.spatial_axes == 3 ? 8 : 4);
        });
        REQUIRE(config.has_value());
        CHECK(hopper().plan(p, test::emulated().device->info(), *config).packed_weight_bytes ==
              std::int64_t{128} * taps * channels);
    }
}
