#include "arguments.hpp"

#include <cstdint>
#include <map>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "buffer.hpp"

namespace {

using Options = std::map<std::string, std::string>;

/// "2x8x12x12" as numbers.
std::vector<std::int64_t> parse_list(const std::string& name, const std::string& text) {
    std::vector<std::int64_t> values;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, 'x');) {
        std::size_t used = 0;
        try {
            values.push_back(std::stoll(part, &used));
        } catch (const std::exception&) {
            used = 0;
        }
        if (used == 0 || used != part.size())
            throw std::runtime_error(name + " (" + text + ") must be whole numbers joined with x");
    }
    return values;
}

/// One value an axis, or one for all, put behind the neutral leading axes.
tconv::Extents spread(const std::string& name, const std::vector<std::int64_t>& values, int axes,
                      std::int64_t neutral) {
    const auto count = static_cast<std::size_t>(axes);
    if (values.size() != 1 && values.size() != count)
        throw std::runtime_error(name + " needs 1 or " + std::to_string(axes) + " values");
    tconv::Extents extents{neutral, neutral, neutral};
    for (std::size_t i = 0; i < count; ++i)
        extents[3 - count + i] = values.size() == 1 ? values[0] : values[i];
    return extents;
}

tconv::Problem problem_of(const Options& options) {
    const std::vector<std::int64_t> input = parse_list("--input", options.at("--input"));
    const std::vector<std::int64_t> weight = parse_list("--weight", options.at("--weight"));
    if (input.size() < 3 || input.size() > 5 || weight.size() != input.size())
        throw std::runtime_error("--input and --weight need 3, 4 or 5 values each, as many as the other");

    tconv::Problem problem;
    problem.spatial_axes = static_cast<int>(input.size()) - 2;
    problem.batch = input[0];
    problem.in_channels = input[1];
    problem.groups = parse_list("--groups", options.at("--groups")).at(0);
    if (weight[0] != problem.in_channels) throw std::runtime_error("--weight must begin with the channels of --input");
    problem.out_channels = weight[1] * problem.groups;
    const auto axes = [&](const std::string& name, std::int64_t neutral) {
        return spread(name, parse_list(name, options.at(name)), problem.spatial_axes, neutral);
    };
    problem.input = spread("--input", {input.begin() + 2, input.end()}, problem.spatial_axes, 1);
    problem.kernel = spread("--weight", {weight.begin() + 2, weight.end()}, problem.spatial_axes, 1);
    problem.stride = axes("--stride", 1);
    problem.padding = axes("--padding", 0);
    problem.output_padding = axes("--output-padding", 0);
    problem.dilation = axes("--dilation", 1);
    problem.bias = options.at("--bias") == "yes";
    problem.layout = tconv::parse_layout(options.at("--layout"));
    return problem;
}

}  // namespace

Arguments parse_arguments(int argc, char** argv) {
    Options options{{"--device", default_device()},
                    {"--database", ""},
                    {"--tolerance", "-1"},
                    {"--strict", "no"},
                    {"--input", "2x8x12x12"},
                    {"--weight", "8x6x3x3"},
                    {"--stride", "2"},
                    {"--padding", "1"},
                    {"--output-padding", "1"},
                    {"--dilation", "1"},
                    {"--groups", "1"},
                    {"--bias", "no"},
                    {"--layout", "nchw"}};
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if (options.count(name) == 0) throw std::runtime_error("unknown option " + name);
        if (name == "--bias" || name == "--strict") {
            options[name] = "yes";
        } else if (++i < argc) {
            options[name] = argv[i];
        } else {
            throw std::runtime_error(name + " needs a value");
        }
    }
    return {options["--device"], options["--database"], std::stod(options["--tolerance"]), options["--strict"] == "yes",
            problem_of(options)};
}
