#include "core/phases.hpp"

#include <map>

#include "core/problem.hpp"
#include "tests/catch.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/scatter.hpp"

using namespace tconv;

TEST_CASE("phases give exactly the pairs of the scatter definition") {
    test::Draw draw(7);
    for (int round = 0; round < test::rounds(4000); ++round) {
        Problem p;
        p.spatial_axes = 1;
        if (!test::draw_axis(draw, p, 2, 12)) continue;
        const std::int64_t extent = output_extents(p)[2];
        std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> expected;  // output -> tap -> input
        test::scatter_axis(p.input[2], p.kernel[2], p.stride[2], p.padding[2], p.dilation[2], extent,
                           [&](std::int64_t i, std::int64_t k, std::int64_t o) { expected[o][k] = i; });
        const auto phases = axis_phases(p.kernel[2], p.stride[2], p.dilation[2]);
        REQUIRE(phases.size() == static_cast<std::size_t>(p.stride[2]));
        std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> found;
        for (std::int64_t o = 0; o < extent; ++o) {
            const Phase& phase = phases[static_cast<std::size_t>((o + p.padding[2]) % p.stride[2])];
            for (const Tap& tap : phase.taps) {
                const std::int64_t i = (o + p.padding[2] - phase.index) / p.stride[2] - tap.offset;
                if (i >= 0 && i < p.input[2]) found[o][tap.kernel_index] = i;
            }
        }
        INFO(key(p));
        REQUIRE(found == expected);
    }
}

TEST_CASE("the closed form of the taps agrees with the list") {
    for (std::int64_t stride = 1; stride <= 12; ++stride) {
        for (std::int64_t dilation = 1; dilation <= 12; ++dilation) {
            for (const std::int64_t kernel : {1, 2, 3, 5, 16, 31}) {
                const TapPattern pattern = tap_pattern(stride, dilation);
                std::int64_t most = 0;
                std::int64_t largest_offset = 0;
                for (const Phase& phase : axis_phases(kernel, stride, dilation)) {
                    INFO("stride " << stride << " dilation " << dilation << " kernel " << kernel << " phase "
                                   << phase.index);
                    std::vector<Tap> taps;
                    if (phase.index % pattern.divisor == 0) {
                        std::int64_t k = phase.index / pattern.divisor * pattern.inverse % pattern.kernel_step;
                        for (; k < kernel; k += pattern.kernel_step) {
                            taps.push_back({k, (k * dilation - phase.index) / stride});
                        }
                    }
                    REQUIRE(taps == phase.taps);
                    for (std::size_t j = 1; j < taps.size(); ++j) {
                        REQUIRE(taps[j].offset - taps[j - 1].offset == pattern.offset_step);
                    }
                    most = std::max(most, static_cast<std::int64_t>(taps.size()));
                    for (const Tap& tap : taps)
                        largest_offset = std::max(largest_offset, tap.offset);
                }
                REQUIRE(max_taps(kernel, stride, dilation) == most);
                REQUIRE(halo(kernel, stride, dilation) == largest_offset);
            }
        }
    }
}

TEST_CASE("stride 2 with dilation 2 has a phase without taps") {
    const auto phases = axis_phases(3, 2, 2);
    CHECK(phases[0].taps == std::vector<Tap>{{0, 0}, {1, 1}, {2, 2}});
    CHECK(phases[1].taps.empty());
}

TEST_CASE("a huge stride needs no table") {
    const TapPattern pattern = tap_pattern(1'000'000'007, 3);
    CHECK(pattern.divisor == 1);
    CHECK(pattern.inverse * 3 % 1'000'000'007 == 1);
}
