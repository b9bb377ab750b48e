#include "tools/problem_options.hpp"

#include <fmt/format.h>

#include <random>

#include "tests/tools/rejects.hpp"

using namespace tconv;
using tests::check_rejection;

namespace {

/// Flags as pairs on one line: "input=8x48x96 weight=48x24x3 stride=2 bias".
ProblemOptions flags(const std::string& line) {
    ProblemOptions options;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
        const std::size_t equals = word.find('=');
        const std::string name = word.substr(0, equals);
        const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
        if (name == "input") options.input = value;
        if (name == "weight") options.weight = value;
        if (name == "stride") options.stride = value;
        if (name == "padding") options.padding = value;
        if (name == "output_padding") options.output_padding = value;
        if (name == "output_size") options.output_size = value;
        if (name == "dilation") options.dilation = value;
        if (name == "groups") options.groups = value;
        if (name == "bias") options.bias = true;
        if (name == "dtype") options.dtype = value;
        if (name == "layout") options.layout = value;
    }
    return options;
}

}  // namespace

TEST_CASE("flags give the problem that they describe") {
    const std::vector<std::pair<const char*, const char*>> table{
        {"input=8x48x96x96x96 weight=48x24x3x3x3",
         "3d n8 ci48 co24 g1 i96x96x96 k3x3x3 s1x1x1 p0x0x0 op0x0x0 d1x1x1 nobias f32 nchw"},
        {"input=16,32,131072 weight=32,64,3 stride=2 padding=1 dilation=2",
         "1d n16 ci32 co64 g1 i131072 k3 s2 p1 op0 d2 nobias f32 nchw"},
        {"input=2x8x12x12 weight=8x6x3x3 stride=2 padding=1 output_padding=1 bias",
         "2d n2 ci8 co6 g1 i12x12 k3x3 s2x2 p1x1 op1x1 d1x1 bias f32 nchw"},
        {"input=1x3x50x50 weight=3x3x3x5 stride=2x1 padding=4x2 dilation=3,1 dtype=f16 layout=nhwc",
         "2d n1 ci3 co3 g1 i50x50 k3x5 s2x1 p4x2 op0x0 d3x1 nobias f16 nhwc"},
        {"input=1x10x7x7 weight=10x15x5x5 groups=2 dtype=bf16",
         "2d n1 ci10 co30 g2 i7x7 k5x5 s1x1 p0x0 op0x0 d1x1 nobias bf16 nchw"},
        {"input=0x3x4 weight=3x1x2", "1d n0 ci3 co1 g1 i4 k2 s1 p0 op0 d1 nobias f32 nchw"},
    };
    for (const auto& [line, expected] : table) {
        INFO(line);
        CHECK(key(parse_problem(flags(line))) == expected);
    }
}

TEST_CASE("every kind of bad flag is one sentence with thing, value and rule") {
    struct Case {
        const char* line;
        std::vector<std::string> parts;
    };
    const std::vector<Case> table{
        {"weight=3x1x2", {"--input is missing", "N x c_in"}},
        {"input=1x3x4", {"--weight is missing", "c_in x c_out/groups"}},
        {"input=1x3 weight=3x1x2", {"--input (1x3)", "3 to 5 numbers, not 2"}},
        {"input=1x3x4x4x4x4 weight=3x1x2", {"--input (1x3x4x4x4x4)", "not 6"}},
        {"input=1x3x4x4 weight=3x1x2", {"--weight (3x1x2) has 1 kernel axes", "2 spatial axes", "agree"}},
        {"input= weight=3x1x2", {"--input ()", "whole numbers"}},
        {"input=1x3xtwo weight=3x1x2", {"--input (1x3xtwo)", "whole numbers"}},
        {"input=1x3x99999999999999999999 weight=3x1x2", {"--input (1x3x9999", "64 bits"}},
        {"input=1x3x0 weight=3x1x2", {"input (0)", "at least 1"}},
        {"input=-1x3x4 weight=3x1x2", {"batch (-1)", "at least 0"}},
        {"input=1x0x4 weight=0x1x2", {"in_channels (0)", "at least 1"}},
        {"input=1x3x4 weight=3x0x2", {"out_channels (0)", "at least 1"}},
        {"input=1x3x4 weight=3x1x0", {"kernel (0)", "at least 1"}},
        {"input=1x3x4 weight=3x1x2 stride=0", {"stride (0)", "at least 1"}},
        {"input=1x3x4 weight=3x1x2 stride=2x2", {"--stride (2x2)", "one number for all axes", "1 axes", "not 2"}},
        {"input=1x3x4x4x4 weight=3x1x2x2x2 padding=1x1", {"--padding (1x1)", "3 axes", "not 2"}},
        {"input=1x3x4 weight=3x1x2 stride=", {"--stride ()", "whole numbers"}},
        {"input=1x3x4 weight=3x1x2 stride=1.5", {"--stride (1.5)", "whole numbers"}},
        {"input=1x3x4 weight=3x1x2 padding=-1", {"padding (-1)", "at least 0"}},
        {"input=1x3x4 weight=3x1x2 padding=9", {"output", "at least 1"}},
        {"input=1x3x4 weight=3x1x3 output_padding=1",
         {"output_padding (1)", "smaller than stride (1) or dilation (1)"}},
        {"input=1x3x4 weight=3x1x2 dilation=0", {"dilation (0)", "at least 1"}},
        {"input=1x3x4 weight=3x1x2 groups=0", {"groups (0)", "at least 1"}},
        {"input=1x3x4 weight=3x1x2 groups=-3", {"groups (-3)", "at least 1"}},
        {"input=1x4x4 weight=4x1x2 groups=3", {"groups (3)", "divide in_channels (4)"}},
        {"input=1x4x4 weight=4x1x2 groups=two", {"--groups (two)", "whole number"}},
        {"input=1x4x4 weight=4x5000000000x2 groups=5000000000", {"--groups (5000000000)", "64 bits"}},
        {"input=2000000000x3x4000000000 weight=3x1x2", {"input", "64 bits"}},
        {"input=1x3x4 weight=3x1x2 dtype=f64", {"dtype (f64)", "f32, f16 or bf16"}},
        {"input=1x3x4 weight=3x1x2 layout=hwcn", {"layout (hwcn)", "nchw or nhwc"}},
    };
    for (const Case& c : table) {
        INFO(c.line);
        check_rejection([&] { (void)parse_problem(flags(c.line)); }, c.parts);
    }
}

TEST_CASE("a weight in another library's layout is answered with the expected shape") {
    check_rejection([] { (void)parse_problem(flags("input=8x48x9x9 weight=24x48x3x3")); },
                    {"--weight (24x48x3x3)", "c_in = 48", "expected shape 48x24x3x3"});
    check_rejection([] { (void)parse_problem(flags("input=1x10x9x9 weight=30x15x5x5 groups=2")); },
                    {"expected shape 10x15x5x5"});
}

TEST_CASE("an output size is the output padding that gives it") {
    // pytorch/pytorch 2119 and 14272: all axes, the dilation counted, with and without batch and channels.
    const Problem volume = parse_problem(flags("input=2x3x4x5x6 weight=3x7x3x3x3 stride=2 output_size=9x12x14"));
    CHECK(volume.output_padding == Extents{0, 1, 1});
    CHECK(output_extents(volume) == Extents{9, 12, 14});
    const Problem whole = parse_problem(flags("input=2x3x4x5x6 weight=3x7x3x3x3 stride=2 output_size=2x7x9x12x14"));
    CHECK(whole == volume);
    const Problem dilated =
        parse_problem(flags("input=1x1x6 weight=1x1x3 stride=2 padding=1 dilation=3 output_size=17"));
    CHECK(output_extents(dilated)[2] == 17);
    CHECK(dilated.output_padding[2] == 2);

    const std::string line = "input=1x2x6x6 weight=2x4x3x3 stride=2 ";
    check_rejection([&] { (void)parse_problem(flags(line + "output_size=13x15")); },
                    {"--output-size (13x15)", "from 13 to 14", "axis 2"});
    check_rejection([&] { (void)parse_problem(flags(line + "output_size=12x13")); }, {"from 13 to 14", "axis 1"});
    check_rejection([&] { (void)parse_problem(flags(line + "output_size=13")); }, {"must be 2 sizes", "(1x4)"});
    check_rejection([&] { (void)parse_problem(flags(line + "output_size=1x2x13x13")); }, {"must be 2 sizes", "(1x4)"});
    check_rejection([&] { (void)parse_problem(flags(line + "output_size=13x13 output_padding=1")); },
                    {"give one of them"});
}

TEST_CASE("padding has no word for keeping the size") {
    check_rejection([] { (void)parse_problem(flags("input=1x2x6x6 weight=2x4x3x3 padding=same")); },
                    {"--padding (same)", "whole numbers"});
}

TEST_CASE("random problems survive the way through flags") {
    std::mt19937 random(11);
    const auto pick = [&](int low, int high) { return low + static_cast<int>(random() % (high - low + 1)); };
    for (int round = 0; round < 300; ++round) {
        Problem p;
        p.spatial_axes = pick(1, 3);
        p.groups = pick(1, 3);
        p.batch = pick(1, 4);
        p.in_channels = p.groups * pick(1, 5);
        p.out_channels = p.groups * pick(1, 5);
        for (std::size_t axis = static_cast<std::size_t>(3 - p.spatial_axes); axis < 3; ++axis) {
            p.input[axis] = pick(3, 9);
            p.kernel[axis] = pick(1, 4);
            p.stride[axis] = pick(1, 3);
            p.padding[axis] = pick(0, 1);
            p.dilation[axis] = pick(1, 3);
            p.output_padding[axis] = pick(0, static_cast<int>(std::max(p.stride[axis], p.dilation[axis])) - 1);
        }
        p.bias = pick(0, 1) == 1;
        const auto list = [&](const Extents& extents) { return join_extents(p, extents); };
        ProblemOptions o;
        o.input = fmt::format("{}x{}x{}", p.batch, p.in_channels, list(p.input));
        o.weight = fmt::format("{}x{}x{}", p.in_channels, p.out_channels / p.groups, list(p.kernel));
        o.stride = list(p.stride);
        o.padding = list(p.padding);
        o.output_padding = list(p.output_padding);
        o.dilation = list(p.dilation);
        o.groups = fmt::format("{}", p.groups);
        o.bias = p.bias;
        CHECK(parse_problem(o) == p);
    }
}
