#include "core/problem.hpp"

#include <functional>
#include <string>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/scatter.hpp"

using namespace tconv;

namespace {

/// The sentence with which a change to a good problem is refused; empty when it is accepted.
std::string refusal(const std::function<void(Problem&)>& change) {
    Problem p;
    p.batch = 2;
    p.in_channels = 32;
    p.out_channels = 64;
    p.input = {1, 8, 9};
    p.kernel = {1, 3, 3};
    p.stride = {1, 2, 2};
    p.padding = {0, 1, 1};
    change(p);
    try {
        validate(p);
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::bad_input);
        return error.what();
    }
    return {};
}

}  // namespace

TEST_CASE("the stride of an axis with a single input is free: each tap becomes a phase") {
    const Problem p = parse_key("3d n2 ci3 co4 g1 i1x1x5 k4x40x3 s1x2x2 p0x1x0 op0x0x1 d2x1x1 nobias f32 nchw");
    const Problem parted = with_lone_inputs_parted(p);
    CHECK(parted.stride == Extents{7, 2, 2});  // 40 phases would be too many
    CHECK(output_extents(parted) == output_extents(p));
    CHECK(flops(parted) == flops(p));
    const Problem wide = parse_key("3d n1 ci3 co4 g1 i1x1x1 k9x9x9 s1x1x1 p0x0x0 op0x0x0 d1x1x1 nobias f32 nchw");
    CHECK(with_lone_inputs_parted(wide).stride == Extents{9, 1, 1});  // 81 phases would be too many
}

TEST_CASE("output extents hold exactly what the scatter reaches, and the output padding") {
    test::Draw draw(11);
    for (int round = 0; round < test::rounds(4000); ++round) {
        Problem p;
        p.spatial_axes = 1;
        if (!test::draw_axis(draw, p, 2, 20)) continue;
        validate(p);
        // The last scattered position, less the cropping on both sides, plus what output_padding adds.
        std::int64_t last = 0;
        test::scatter_axis(p.input[2], p.kernel[2], p.stride[2], 0, p.dilation[2], 1'000'000,
                           [&](std::int64_t, std::int64_t, std::int64_t o) { last = std::max(last, o); });
        REQUIRE(output_extents(p)[2] == last + 1 - 2 * p.padding[2] + p.output_padding[2]);
    }
}

TEST_CASE("flops count the pairs of the scatter") {
    test::Draw draw(13);
    for (int round = 0; round < test::rounds(300); ++round) {
        const Problem p = test::draw_problem(draw);
        const Extents output = output_extents(p);
        double pairs = 1;
        for (std::size_t a = 0; a < 3; ++a) {
            double count = 0;
            test::scatter_axis(p.input[a], p.kernel[a], p.stride[a], p.padding[a], p.dilation[a], output[a],
                               [&](std::int64_t, std::int64_t, std::int64_t) { count += 1; });
            pairs *= count;
        }
        INFO(key(p));
        REQUIRE(flops(p) == 2.0 * static_cast<double>(p.batch * p.in_channels * (p.out_channels / p.groups)) * pairs);
    }
}

TEST_CASE("the key is the problem") {
    test::Draw draw(17);
    for (int round = 0; round < test::rounds(2000); ++round) {
        Problem p = test::draw_problem(draw);
        p.dtype = static_cast<DataType>(draw.between(0, 2));
        p.layout = static_cast<Layout>(draw.between(0, 1));
        REQUIRE(parse_key(key(p)) == p);
    }
    for (const char* text : {"", "2d", "4d n1", "2d n1 ci1 co1 g1 i3 k3x3 s1x1 p0x0 op0x0 d1x1 nobias f32 nchw",
                             "1d nX ci1 co1 g1 i3 k3 s1 p0 op0 d1 nobias f32 nchw",
                             "1d n1 ci1 co1 g1 i3 k3 s1 p0 op0 d1 nobias f32 nchw more",
                             "1d n1 ci1 co1 g1 i99999999999999999999 k3 s1 p0 op0 d1 nobias f32 nchw"}) {
        INFO(text);
        CHECK_THROWS_AS(parse_key(text), Error);
    }
}

TEST_CASE("a broken rule is named with its field and values") {
    const auto contains = [](const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
    };
    CHECK(refusal([](Problem&) {}).empty());
    CHECK(refusal([](Problem& p) { p.batch = 0; }).empty());
    CHECK(contains(refusal([](Problem& p) { p.groups = 3; }), "groups (3) must divide in_channels (32)"));
    CHECK(contains(refusal([](Problem& p) {
                       p.groups = 32;
                       p.out_channels = 40;
                   }),
                   "groups (32) must divide out_channels (40)"));
    CHECK(contains(refusal([](Problem& p) { p.groups = 0; }), "groups (0) must be at least 1"));
    CHECK(contains(refusal([](Problem& p) { p.stride[2] = 0; }), "stride (2x0) must be at least 1"));
    CHECK(contains(refusal([](Problem& p) { p.dilation = {1, 7, 0}; }), "dilation (7x0) must be at least 1"));
    CHECK(contains(refusal([](Problem& p) { p.padding[1] = -1; }), "padding (-1x1) must be at least 0"));
    CHECK(contains(refusal([](Problem& p) { p.output_padding[2] = 2; }),
                   "output_padding (2) must be smaller than stride (2) or dilation (1)"));
    CHECK(refusal([](Problem& p) {
              p.output_padding[2] = 2;
              p.dilation[2] = 3;
          }).empty());
    CHECK(contains(refusal([](Problem& p) { p.padding[1] = 20; }), "output height (-23) must be at least 1"));
    CHECK(contains(refusal([](Problem& p) { p.input[1] = 0; }), "input (0x9) must be at least 1"));
    CHECK(contains(refusal([](Problem& p) { p.input[1] = std::int64_t{1} << 60; }), "64 bits"));
    CHECK(contains(refusal([](Problem& p) {
                       p.stride[1] = std::int64_t{1} << 62;
                       p.input[1] = 5;
                   }),
                   "64 bits"));
    CHECK(contains(refusal([](Problem& p) { p.batch = -1; }), "batch (-1) must be at least 0"));
    CHECK(contains(refusal([](Problem& p) { p.batch = std::int64_t{1} << 40; }),
                   "batch (1099511627776) must be at most"));
    CHECK(contains(refusal([](Problem& p) { p.spatial_axes = 4; }), "spatial_axes (4) must be 1, 2 or 3"));
    CHECK(contains(refusal([](Problem& p) { p.spatial_axes = 1; }), "neutral"));
}

TEST_CASE("weights follow one another as the layout says") {
    Problem p;
    p.in_channels = 6;
    p.out_channels = 8;
    p.groups = 2;
    p.kernel = {2, 1, 3};
    std::int64_t first = 0;
    std::int64_t last = 0;
    for (std::int64_t in = 0; in < 6; ++in) {
        for (std::int64_t out = 0; out < 4; ++out) {
            for (std::int64_t tap = 0; tap < 6; ++tap)
                CHECK(weight_offset(p, in, out, tap) == first++);
        }
    }
    p.layout = Layout::nhwc;
    for (std::int64_t in = 0; in < 6; ++in) {
        for (std::int64_t tap = 0; tap < 6; ++tap) {
            for (std::int64_t out = 0; out < 4; ++out)
                CHECK(weight_offset(p, in, out, tap) == last++);
        }
    }
    CHECK(first == weight_elements(p));
    CHECK(last == weight_elements(p));
}

TEST_CASE("reported shapes of other tools' faults come out right") {
    Problem p;  // stride and dilation both different from 1, on unequal axes
    p.input = {1, 50, 50};
    p.kernel = {1, 3, 5};
    p.stride = {1, 2, 1};
    p.padding = {0, 4, 2};
    p.dilation = {1, 3, 1};
    CHECK(output_extents(p) == Extents{1, 97, 50});

    Problem line;  // stride and dilation share a factor
    line.spatial_axes = 1;
    line.input = {1, 1, 6};
    line.kernel = {1, 1, 3};
    line.stride = {1, 1, 2};
    line.padding = {0, 0, 1};
    line.output_padding = {0, 0, 1};
    line.dilation = {1, 1, 2};
    CHECK(output_extents(line)[2] == 14);
    const std::vector<double> ones(6, 1.0);
    CHECK(test::scatter(line, {1, 1, 14}, ones, {1.0, 1.0, 1.0}, {}) ==
          std::vector<double>{0, 2, 0, 3, 0, 3, 0, 3, 0, 3, 0, 2, 0, 1});
}
