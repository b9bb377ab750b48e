#include "tuner/test_values.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/catch.hpp"
#include "tests/support/emulated.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/scatter.hpp"
#include "tuner/test_tensors.hpp"

using namespace tconv;

namespace {

struct Drawn {
    std::vector<float> input, weight;
    std::vector<double> reference;
    std::vector<float> scale;
};

template <class T>
std::vector<T> read(Device& device, DevicePointer address, std::int64_t count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    device.copy_to_host(values.data(), address, values.size() * sizeof(T));
    return values;
}

Drawn draw(const Problem& p, Distribution distribution) {
    auto& emulated = test::emulated();
    Device& device = *emulated.device;
    Builder builder(*emulated.compiler, device.info());
    SupportKernels support(device, builder);
    TestTensors tensors(device, support, p, distribution, 11, p.batch, 256);
    const auto outputs = static_cast<std::size_t>(output_elements(p));
    const test::OnDevice reference(device, std::vector<double>(outputs));
    const test::OnDevice scale(device, std::vector<float>(outputs));
    support.scaled_reference(p, tensors.input().address(), tensors.weight().address(),
                             p.bias ? tensors.bias().address() : 0, reference.address(), scale.address());
    return {read<float>(device, tensors.input().address(), input_elements(p)),
            read<float>(device, tensors.weight().address(), weight_elements(p)), reference.read(), scale.read()};
}

Problem grouped() {
    Problem p;
    p.batch = 3;
    p.in_channels = 24;
    p.out_channels = 12;
    p.groups = 2;
    p.input = {1, 9, 8};
    p.kernel = {1, 3, 3};
    p.stride = {1, 2, 1};
    p.padding = {0, 1, 1};
    return p;
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

double median_share_left(const Drawn& drawn) {
    std::vector<double> shares;
    for (std::size_t i = 0; i < drawn.reference.size(); ++i)
        shares.push_back(std::abs(drawn.reference[i]) / static_cast<double>(drawn.scale[i]));
    return median(shares);
}

}  // namespace

TEST_CASE("the longest sum bounds what any output adds up, and is reached without cropping") {
    test::Draw draw(5);
    for (int round = 0; round < test::rounds(100); ++round) {
        Problem p = test::draw_problem(draw);
        p.bias = false;
        INFO(key(p));
        const auto ones = [](std::int64_t count) { return std::vector<double>(static_cast<std::size_t>(count), 1); };
        const auto sums =
            test::scatter(p, output_extents(p), ones(input_elements(p)), ones(weight_elements(p)), ones(0));
        CHECK(*std::max_element(sums.begin(), sums.end()) <= static_cast<double>(longest_sum(p)));
    }
    CHECK(longest_sum(grouped()) == 12 * 2 * 3);
    Problem dilated = grouped();
    dilated.kernel = {1, 1, 4096};
    CHECK(longest_sum(dilated) == 12 * 8);
}

TEST_CASE("integers are as large as exact sums allow, and no larger") {
    for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16}) {
        const double limit = type == DataType::f16 ? 65504 : (1 << 24) - 1;
        for (const std::int64_t channels : {1, 2, 7, 48, 255, 256, 1000, 4096, 100000, 1 << 22}) {
            Problem p;
            p.dtype = type;
            p.in_channels = channels;
            p.input = {1, 4, 4};
            p.kernel = {1, 2, 2};
            const auto products = static_cast<double>(longest_sum(p));
            const auto range = static_cast<double>(integer_range(p));
            const auto largest = [&](double r) { return products * r * r + r; };
            INFO(channels << " channels, range " << range);
            CHECK((largest(range) <= limit || range == 1));
            CHECK((largest(range + 1) > limit || range == 256));
            CHECK(integers_are_exact(p) == (products + 1 < (1 << 24)));
        }
    }
}

TEST_CASE("integers are whole numbers of the range, both ends included") {
    const Problem p = grouped();
    const auto range = static_cast<float>(integer_range(p));
    const Drawn drawn = draw(p, Distribution::integers);
    for (const float value : drawn.input)
        CHECK((value == std::floor(value) && std::abs(value) <= range));
    const auto [least, most] = std::minmax_element(drawn.input.begin(), drawn.input.end());
    CHECK(*least < -0.9F * range);
    CHECK(*most > 0.9F * range);
}

TEST_CASE("wide values span many octaves and their sums cancel") {
    for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
        Problem p = grouped();
        p.layout = layout;
        const Drawn drawn = draw(p, Distribution::wide);
        std::vector<float> sizes;
        for (const float value : drawn.input)
            sizes.push_back(std::abs(value));
        const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
        CHECK(*most / *least > 1e5F);
        CHECK(std::any_of(drawn.input.begin(), drawn.input.end(), [](float value) { return value < 0; }));
        // What is left of a sum beside its products: a hundredth, and all of it for independent values.
        CHECK(median_share_left(drawn) < 0.01);
        CHECK(median_share_left(draw(p, Distribution::normal)) > 0.3);
    }
}

TEST_CASE("tensors of another batch have the same entries and begin again after the problem's") {
    auto& emulated = test::emulated();
    Device& device = *emulated.device;
    Builder builder(*emulated.compiler, device.info());
    SupportKernels support(device, builder);
    const Problem p = grouped();
    const std::int64_t entry = input_elements(p) / p.batch;
    const auto values = [&](std::int64_t batch, std::int64_t alignment) {
        TestTensors tensors(device, support, p, Distribution::normal, 11, batch, alignment);
        CHECK(tensors.input().address() % static_cast<std::uint64_t>(2 * alignment) ==
              static_cast<std::uint64_t>(alignment));
        return read<float>(device, tensors.input().address(), batch * entry);
    };
    const std::vector<float> three = values(3, 256);
    const std::vector<float> four = values(4, 4);
    const std::vector<float> two = values(2, 64);
    CHECK(std::equal(three.begin(), three.end(), four.begin()));
    CHECK(std::equal(two.begin(), two.end(), three.begin()));
    CHECK(std::equal(four.begin() + 3 * entry, four.end(), three.begin()));
}
