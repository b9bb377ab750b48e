#pragma once

#include <string>
#include <vector>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tuner/search_space.hpp"

namespace tconv::testing {

/// The sentence of the Error that `call` throws; "no error" when it throws none.
template <class Call>
std::string error_of(Call&& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

/// Checks that a message holds a part.
inline void check_holds(const std::string& message, const std::string& part) {
    INFO("\"" << message << "\" should hold \"" << part << "\"");
    CHECK(message.find(part) != std::string::npos);
}

/// A search space file with these blocks (YAML, indented by two) and a launch of one thread.
inline std::string space_text(const std::string& parameters, const std::string& derived = "",
                              const std::string& constraints = "", const std::string& defaults = "") {
    std::string text = "family: test\ntemplate: test.cu\ndescription: For tests.\nparameters:\n" + parameters;
    if (!derived.empty()) text += "derived:\n" + derived;
    if (!constraints.empty()) text += "constraints:\n" + constraints;
    text +=
        "launch:\n  kernel: tconv_test\n  grid: [1, 1, 1]\n  batch_axis: z\n  block: [1, 1, 1]\n"
        "  arguments: [input, weight, bias, output, batch]\n";
    if (!defaults.empty()) text += "defaults:\n" + defaults;
    return text;
}

inline SearchSpace make_space(const std::string& parameters, const std::string& derived = "",
                              const std::string& constraints = "", const std::string& defaults = "") {
    return SearchSpace::parse(space_text(parameters, derived, constraints, defaults), "test.yaml");
}

/// A space whose parameter `math` is an arithmetic: 0 plain fp32, 1 TF32, 2 and 3 products of split numbers. More tiles
/// compile longer. Any template of the tree does: nothing is built of it.
inline SearchSpace accuracy_space(const std::string& family = "test", const std::string& defaults = "",
                                  const std::string& math = "[0, 1, 2, 3]") {
    std::string text =
        space_text("  tile: {values: [1, 2, 4, 8, 16, 32]}\n  math: {values: " + math +
                       "}\n  block: {values: [32, 64, 128, 256]}\n  depth: {values: [1, 2, 3, 4], former: 1}\n",
                   "  plain: \"math == 0\"\n", "  - \"tile * depth <= 64\"\n", defaults);
    text.replace(text.find("test\n"), 4, family);
    text.replace(text.find("test.cu"), 7, "direct.cu");
    text +=
        "error: \"plain ? 0 : math == 1 ? 1e-3 : math == 2 ? 2e-6 : 2.5e-5\"\n"
        "strict: {rule: \"plain\", because: \"this is tensor core arithmetic\"}\n"
        "cost: \"tile * (plain ? 0.1 : 1)\"\n";
    return SearchSpace::parse(text, "accuracy.yaml");
}

inline DeviceInfo test_device() {
    DeviceInfo device;
    device.kind = DeviceKind::cuda;
    device.name = "NVIDIA test";
    device.compute_major = 9;
    device.multiprocessors = 132;
    device.shared_memory_per_block = 232448;
    return device;
}

inline Problem test_problem() {
    Problem problem;
    problem.in_channels = 8;
    problem.out_channels = 12;
    problem.input = {1, 10, 20};
    problem.kernel = {1, 3, 4};
    problem.stride = {1, 1, 2};
    return problem;
}

inline std::vector<Config> all_configs(const SearchSpace& space, const Problem& problem, const DeviceInfo& device) {
    std::vector<Config> result;
    space.enumerate(problem, device, [&](const Config& config) {
        result.push_back(config);
        return true;
    });
    return result;
}

}  // namespace tconv::testing
