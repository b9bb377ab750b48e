#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "kernel_sources/sources.hpp"
#include "tests/catch.hpp"
#include "tests/support/element_types.hpp"
#include "tests/support/emulated.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/scatter.hpp"
#include "tuner/search_space.hpp"

namespace tconv::test {

[[nodiscard]] inline const SearchSpace& space_named(const std::string& name) {
    static const std::vector<SearchSpace> spaces = load_search_spaces();
    for (const SearchSpace& space : spaces) {
        if (space.name() == name) return space;
    }
    throw Error(ErrorKind::not_found, "no family " + name);
}

/// Where kernels are built and run.
struct Machine {
    Device& device;
    std::function<std::unique_ptr<Module>(const std::string& source, const std::vector<std::string>& kernels)> build;
};

[[nodiscard]] inline Machine emulator_machine() {
    return {*emulated().device, [](const std::string& source, const std::vector<std::string>& kernels) {
                return emulated().build(source, kernels);
            }};
}

/// A random valid config that `accept` takes.
[[nodiscard]] inline std::optional<Config> draw_config(const SearchSpace& space, Draw& draw, const Problem& p,
                                                       const std::function<bool(const Config&)>& accept,
                                                       const DeviceInfo& info = emulated().device->info()) {
    const auto below = [&](std::uint64_t n) {
        return static_cast<std::uint64_t>(draw.between(0, static_cast<std::int64_t>(n) - 1));
    };
    return space.draw(p, info, below, accept);
}

/// Values as the elements of a type.
[[nodiscard]] inline std::vector<std::uint8_t> elements_of(DataType type, const std::vector<double>& values) {
    const auto size = static_cast<std::size_t>(size_in_bytes(type));
    std::vector<std::uint8_t> bytes(values.size() * size);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto single = static_cast<float>(values[i]);
        const std::uint16_t half = type == DataType::f32 ? std::uint16_t{0} : bits_of_value(type, values[i]);
        const void* source = type == DataType::f32 ? static_cast<const void*>(&single) : &half;
        std::memcpy(&bytes[i * size], source, size);
    }
    return bytes;
}

[[nodiscard]] inline double element_at(DataType type, const std::vector<std::uint8_t>& bytes, std::size_t index) {
    if (type == DataType::f32) {
        float value = 0;
        std::memcpy(&value, &bytes[index * 4], 4);
        return static_cast<double>(value);
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, &bytes[index * 2], 2);
    return value_of_bits(type, bits);
}

[[nodiscard]] inline std::vector<double> draw_integers(Draw& draw, std::int64_t count, std::int64_t largest) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < count; ++i)
        values.push_back(static_cast<double>(draw.between(-largest, largest)));
    return values;
}

/// A tensor whose address is a multiple of `alignment` and of no larger power of two.
class PlacedTensor {
public:
    PlacedTensor(Device& device, std::vector<std::uint8_t> bytes, std::int64_t alignment)
        : lead_(static_cast<std::size_t>(alignment)), memory_(device, behind(lead_, std::move(bytes))) {}

    [[nodiscard]] DevicePointer address() const { return memory_.address() + lead_; }
    [[nodiscard]] std::vector<std::uint8_t> read() const {
        const auto bytes = memory_.read();
        return {bytes.begin() + static_cast<std::ptrdiff_t>(lead_), bytes.end()};
    }

private:
    [[nodiscard]] static std::vector<std::uint8_t> behind(std::size_t lead, std::vector<std::uint8_t> bytes) {
        bytes.insert(bytes.begin(), lead, std::uint8_t{0xff});
        return bytes;
    }
    std::size_t lead_;
    OnDevice<std::uint8_t> memory_;
};

/// Largest integers of a test's input and weights.
struct Largest {
    std::int64_t input;
    std::int64_t weight;
    Largest(std::int64_t both) : input(both), weight(both) {}
    Largest(std::int64_t of_input, std::int64_t of_weight) : input(of_input), weight(of_weight) {}
};

/// Whether an output is the integer that is expected, up to `slack`, rounded once: with a slack below a half it is
/// nearer to that integer than to any other.
[[nodiscard]] inline bool is_right(DataType type, double found, double expected, double slack) {
    return found >= rounded_to(type, expected - slack) && found <= rounded_to(type, expected + slack);
}

/// Runs a config on integers of at most `largest`, whose sums are exact in fp32 whatever the arithmetic and the order:
/// every output must be the scatter's, rounded once; where the plan transforms its inputs by fractions, those that
/// `exact` names, and the others nearly so.
inline void check_exact(
    const SearchSpace& space, Draw& draw, const Problem& p, const Config& config, Largest largest = 8,
    const Machine& machine = emulator_machine(),
    const std::function<bool(std::size_t)>& exact = [](std::size_t) { return false; }) {
    INFO(key(p) << " | " << to_string(config));
    Device& device = machine.device;
    const LaunchPlan plan = space.plan(p, device.info(), config);
    check_plan(plan, p, device.info());
    const auto module = machine.build(specialise(plan, p, config), kernel_names(plan));

    const auto input = draw_integers(draw, input_elements(p), largest.input);
    const auto weight = draw_integers(draw, weight_elements(p), largest.weight);
    const auto bias = draw_integers(draw, bias_elements(p), largest.input);
    const auto expected = scatter(p, output_extents(p), input, weight, bias);
    const PlacedTensor in(device, elements_of(p.dtype, input), plan.alignment);
    const PlacedTensor w(device, elements_of(p.dtype, weight), plan.alignment);
    const PlacedTensor b(device, elements_of(p.dtype, bias), plan.alignment);
    const PlacedTensor out(
        device, std::vector<std::uint8_t>(expected.size() * static_cast<std::size_t>(size_in_bytes(p.dtype)), 0xff),
        plan.alignment);
    const OnDevice workspace(device,
                             std::vector<std::uint8_t>(static_cast<std::size_t>(workspace_for(plan, p.batch)), 0xff));
    const OnDevice packed(device, std::vector<std::uint8_t>(static_cast<std::size_t>(plan.packed_weight_bytes), 0xff));
    launch_plan(
        device, *module, plan, p.batch,
        {in.address(), w.address(), p.bias ? b.address() : 0, out.address(), workspace.address(), packed.address()});
    device.synchronize();
    const auto found = out.read();
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double slack = plan.exact_on_integers || exact(i) ? 0 : 0.25;
        if (is_right(p.dtype, element_at(p.dtype, found, i), expected[i], slack)) continue;
        FAIL("output " << i << " of " << expected.size() << " is " << element_at(p.dtype, found, i) << ", not "
                       << rounded_to(p.dtype, expected[i]));
    }
}

/// `count` random configs of a problem that has some, of those that `accept` takes.
inline void check_drawn(
    const SearchSpace& space, Draw& draw, const Problem& p, int count,
    const std::function<bool(const Config&)>& accept = [](const Config&) { return true; },
    const Machine& machine = emulator_machine()) {
    for (int i = 0; i < count; ++i) {
        const auto config = draw_config(space, draw, p, accept, machine.device.info());
        INFO(key(p));
        REQUIRE(config.has_value());
        check_exact(space, draw, p, *config, 8, machine);
    }
}

}  // namespace tconv::test
