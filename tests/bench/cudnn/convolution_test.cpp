#include "bench/cudnn/convolution.hpp"

#include "tests/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/scatter.hpp"

using namespace tconv;
using cudnn::Convolution;
using cudnn::convolution_of;
using cudnn::inexpressible;
using Numbers = std::vector<std::int64_t>;

namespace {

/// The extent of a convolution's result, as NVIDIA's manual and PyTorch's Conv documents have it.
std::int64_t convolved(std::int64_t input, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                       std::int64_t dilation) {
    return (input + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
}

Problem example() {
    Problem p;
    p.spatial_axes = 2;
    p.batch = 2;
    p.in_channels = 6;
    p.out_channels = 9;
    p.groups = 3;
    p.input = {1, 4, 5};
    p.kernel = {1, 3, 2};
    p.stride = {1, 2, 3};
    p.padding = {0, 1, 0};
    p.output_padding = {0, 1, 0};
    p.dilation = {1, 1, 2};
    p.bias = true;
    return p;
}

}  // namespace

TEST_CASE("a 2-D problem in both memory orders") {
    // Output: 3*2 - 2 + 2 + 1 + 1 = 8 by 4*3 + 2*1 + 1 = 15.
    const Convolution first = convolution_of(example(), Layout::nchw, Layout::nchw);
    CHECK(first.input.extents == Numbers{2, 6, 4, 5});
    CHECK(first.input.strides == Numbers{120, 20, 5, 1});
    CHECK(first.weight.extents == Numbers{6, 3, 3, 2});
    CHECK(first.weight.strides == Numbers{18, 6, 2, 1});
    CHECK(first.output.extents == Numbers{2, 9, 8, 15});
    CHECK(first.output.strides == Numbers{1080, 120, 15, 1});
    CHECK(first.bias.extents == Numbers{1, 9, 1, 1});
    CHECK(first.bias.strides[1] == 1);
    CHECK(first.stride == Numbers{2, 3});
    CHECK(first.padding == Numbers{1, 0});
    CHECK(first.dilation == Numbers{1, 2});

    const Convolution last = convolution_of(example(), Layout::nhwc, Layout::nhwc);
    CHECK(last.input.extents == first.input.extents);
    CHECK(last.input.strides == Numbers{120, 1, 30, 6});
    CHECK(last.weight.extents == first.weight.extents);
    CHECK(last.weight.strides == Numbers{18, 1, 6, 3});
    CHECK(last.output.strides == Numbers{1080, 1, 135, 9});
    CHECK(last.bias.strides[1] == 1);

    const Convolution mixed = convolution_of(example(), Layout::nhwc, Layout::nchw);
    CHECK(mixed.input.strides == last.input.strides);
    CHECK(mixed.weight.strides == first.weight.strides);
}

TEST_CASE("cuDNN sees two spatial axes where the others have no effect, else three") {
    Problem p;
    p.spatial_axes = 1;
    p.input = {1, 1, 40};
    p.kernel = {1, 1, 3};
    CHECK(convolution_of(p, Layout::nchw, Layout::nchw).input.extents == Numbers{1, 1, 1, 40});
    p.spatial_axes = 3;
    CHECK(cudnn::dropped_axes(p) == 1);
    p.input = {2, 1, 40};
    CHECK(convolution_of(p, Layout::nchw, Layout::nchw).input.extents == Numbers{1, 1, 2, 1, 40});
    p.input = {1, 1, 40};
    p.kernel = {2, 1, 3};
    CHECK(cudnn::dropped_axes(p) == 0);
    p.kernel = {1, 1, 3};
    p.stride = {2, 1, 1};
    p.output_padding = {1, 0, 0};
    CHECK(cudnn::dropped_axes(p) == 0);
    CHECK(convolution_of(p, Layout::nchw, Layout::nchw).output.extents == Numbers{1, 1, 2, 1, 42});
}

TEST_CASE("the convolution of our output has our input's extents, or is refused") {
    test::Draw draw(7);
    int refused = 0;
    for (int round = 0; round < test::rounds(500); ++round) {
        const Problem p = test::draw_problem(draw);
        INFO(key(p));
        const Convolution c = convolution_of(p, Layout::nchw, Layout::nchw);
        bool fits = true;
        for (std::size_t axis = 0; axis < c.stride.size(); ++axis) {
            fits = fits && convolved(c.output.extents[axis + 2], c.weight.extents[axis + 2], c.stride[axis],
                                     c.padding[axis], c.dilation[axis]) == c.input.extents[axis + 2];
        }
        CHECK(inexpressible(p).empty() == fits);
        refused += fits ? 0 : 1;
    }
    CHECK(refused > 0);
}

TEST_CASE("strides address each element where the memory order of a problem has it") {
    test::Draw draw(8);
    for (int round = 0; round < test::rounds(50); ++round) {
        const Problem p = test::draw_problem(draw);
        INFO(key(p));
        for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
            const cudnn::Tensor tensor = convolution_of(p, layout, layout).input;
            const std::size_t axes = tensor.extents.size() - 2;
            const std::int64_t n = draw.between(0, p.batch - 1);
            const std::int64_t c = draw.between(0, p.in_channels - 1);
            Extents at{};
            std::int64_t offset = n * tensor.strides[0] + c * tensor.strides[1];
            for (std::size_t axis = 0; axis < axes; ++axis) {
                at[3 - axes + axis] = draw.between(0, tensor.extents[axis + 2] - 1);
                offset += at[3 - axes + axis] * tensor.strides[axis + 2];
            }
            CHECK(static_cast<std::size_t>(offset) ==
                  test::tensor_index(layout, p.in_channels, p.input, n, c, at[0], at[1], at[2]));
        }
    }
}

TEST_CASE("what cuDNN cannot express is named") {
    Problem p = example();
    CHECK(inexpressible(p).empty());
    p.batch = 0;
    CHECK_THAT(inexpressible(p), contains("batch"));
    p = example();
    p.dilation = {1, 4, 2};
    p.output_padding = {0, 3, 0};
    CHECK_THAT(inexpressible(p), contains("output_padding (3)"));
    CHECK_THAT(inexpressible(p), contains("stride (2)"));
    CHECK_THAT(inexpressible(p), contains("height"));
}
