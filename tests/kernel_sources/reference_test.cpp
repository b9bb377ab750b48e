#include "kernel_sources/reference.hpp"

#include <cmath>
#include <cstring>

#include "kernel_sources/sources.hpp"
#include "tests/catch.hpp"
#include "tests/support/element_types.hpp"
#include "tests/support/emulated.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/scatter.hpp"

using namespace tconv;

namespace {

/// Random values that the type holds exactly, as bytes and as numbers.
struct Tensor {
    std::vector<unsigned char> bytes;
    std::vector<double> values;
};

Tensor draw_tensor(test::Draw& draw, DataType type, std::int64_t count) {
    Tensor tensor;
    for (std::int64_t i = 0; i < count; ++i) {
        if (type == DataType::f32) {
            const float value = static_cast<float>(draw.between(-1000, 1000)) / 128.0F;
            const auto* bytes = reinterpret_cast<const unsigned char*>(&value);
            tensor.bytes.insert(tensor.bytes.end(), bytes, bytes + sizeof value);
            tensor.values.push_back(value);
            continue;
        }
        // Patterns of magnitude around 1, with every mantissa.
        const int mantissa_bits = type == DataType::f16 ? 10 : 7;
        const auto exponent = static_cast<std::uint16_t>((type == DataType::f16 ? 15 : 127) + draw.between(-2, 2));
        const auto bits = static_cast<std::uint16_t>((draw.between(0, 1) << 15) | (exponent << mantissa_bits) |
                                                     draw.between(0, (1 << mantissa_bits) - 1));
        tensor.bytes.push_back(static_cast<unsigned char>(bits & 0xFF));
        tensor.bytes.push_back(static_cast<unsigned char>(bits >> 8));
        tensor.values.push_back(test::value_of_bits(type, bits));
    }
    return tensor;
}

double element(const std::vector<unsigned char>& bytes, DataType type, std::size_t index) {
    if (type == DataType::f32) {
        float value = 0;
        std::memcpy(&value, bytes.data() + 4 * index, 4);
        return value;
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + 2 * index, 2);
    return test::value_of_bits(type, bits);
}

Module& reference_module() {
    static const auto module = [] {
        std::vector<std::string> kernels;
        for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16}) {
            kernels.push_back(reference_entry(type));
            kernels.push_back(scaled_reference_entry(type));
        }
        return test::emulated().build(expand_includes(k_reference_file), kernels);
    }();
    return *module;
}

/// Half the distance between neighbours of the type, relative to the value.
double rounding(DataType type) {
    return type == DataType::f32 ? std::ldexp(1, -24) : type == DataType::f16 ? std::ldexp(1, -11) : std::ldexp(1, -8);
}

}  // namespace

TEST_CASE("the reference kernel agrees with the scatter definition for every type and layout") {
    test::Draw draw(23);
    Device& device = *test::emulated().device;
    for (int round = 0; round < test::rounds(60); ++round) {
        Problem p = test::draw_problem(draw);
        p.dtype = static_cast<DataType>(round % 3);
        p.layout = static_cast<Layout>(round / 3 % 2);
        const Tensor input = draw_tensor(draw, p.dtype, input_elements(p));
        const Tensor weight = draw_tensor(draw, p.dtype, weight_elements(p));
        const Tensor bias = draw_tensor(draw, p.dtype, bias_elements(p));
        const auto expected = test::scatter(p, output_extents(p), input.values, weight.values, bias.values);

        const test::OnDevice in(device, input.bytes);
        const test::OnDevice w(device, weight.bytes);
        const test::OnDevice b(device, bias.bytes);
        const auto output_bytes = static_cast<std::size_t>(output_elements(p) * size_in_bytes(p.dtype));
        const test::OnDevice out(device, std::vector<unsigned char>(output_bytes, 0xFF));
        launch_plan(device, reference_module(), reference_plan(p), p.batch,
                    {in.address(), w.address(), p.bias ? b.address() : 0, out.address(), 0});
        device.synchronize();
        const auto bytes = out.read();
        INFO(key(p));
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const double found = element(bytes, p.dtype, i);
            REQUIRE(std::abs(found - expected[i]) <= std::abs(expected[i]) * rounding(p.dtype) * 1.000001 + 1e-9);
        }
    }
}

TEST_CASE("the scale of the error measure is the root of the summed squares") {
    test::Draw draw(29);
    Device& device = *test::emulated().device;
    for (int round = 0; round < test::rounds(15); ++round) {
        const Problem p = test::draw_problem(draw);
        const Tensor input = draw_tensor(draw, p.dtype, input_elements(p));
        const Tensor weight = draw_tensor(draw, p.dtype, weight_elements(p));
        const Tensor bias = draw_tensor(draw, p.dtype, bias_elements(p));
        const auto squared = [](std::vector<double> values) {
            for (double& value : values)
                value *= value;
            return values;
        };
        const auto expected = test::scatter(p, output_extents(p), input.values, weight.values, bias.values);
        const auto squares =
            test::scatter(p, output_extents(p), squared(input.values), squared(weight.values), squared(bias.values));

        const test::OnDevice in(device, input.bytes);
        const test::OnDevice w(device, weight.bytes);
        const test::OnDevice b(device, bias.bytes);
        const test::OnDevice reference(device, std::vector<double>(expected.size(), NAN));
        const test::OnDevice scale(device, std::vector<float>(expected.size(), NAN));
        DevicePointer addresses[]{in.address(), w.address(), p.bias ? b.address() : 0, reference.address(),
                                  scale.address()};
        auto shape = reference_shape(p);
        int batch = static_cast<int>(p.batch);
        void* arguments[]{&addresses[0], &addresses[1], &addresses[2], &addresses[3],
                          &addresses[4], shape.data(),  &batch};
        device.launch(reference_module(), scaled_reference_entry(p.dtype), {{3, 1, 1}, {32, 1, 1}, 0}, arguments,
                      nullptr);
        device.synchronize();
        const auto values = reference.read();
        const auto scales = scale.read();
        INFO(key(p));
        for (std::size_t i = 0; i < expected.size(); ++i) {
            REQUIRE(values[i] == Approx(expected[i]).margin(1e-9));
            REQUIRE(static_cast<double>(scales[i]) == Approx(std::sqrt(squares[i])).margin(1e-9));
        }
    }
}

TEST_CASE("the reference plan passes the check for a batch beyond 65,535 and for many outputs") {
    Problem p;
    p.spatial_axes = 1;
    p.batch = 70000;
    p.input = {1, 1, 3};
    const DeviceInfo device = test::emulated().device->info();
    CHECK_NOTHROW(check_plan(reference_plan(p), p, device));
    p.batch = 1;
    p.out_channels = 2;
    p.input = {1, 1, std::int64_t{1} << 33};
    CHECK_NOTHROW(check_plan(reference_plan(p), p, device));
}
