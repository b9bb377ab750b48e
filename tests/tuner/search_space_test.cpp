#include "tuner/search_space.hpp"

#include <algorithm>
#include <random>
#include <set>

#include "tests/catch.hpp"
#include "tests/tuner/spaces_for_tests.hpp"
#include "tuner/strategies/random.hpp"

using namespace tconv;
using namespace tconv::testing;

namespace {

const std::string k_tiles =
    "  a: {values: [1, 2, 4]}\n"
    "  b: {values: [3, 1, 2]}\n"
    "  c: {values: [0, 1]}\n";

// Random spaces over a, b, c, d whose rules the test can evaluate by itself.
struct RandomSpace {
    std::vector<Parameter> parameters;
    struct Rule {
        std::size_t left, right;
        std::int64_t limit;
    };
    std::vector<Rule> rules;  // left * right + left <= limit

    explicit RandomSpace(std::mt19937_64& random) {
        for (const char* name : {"a", "b", "c", "d"}) {
            std::set<std::int64_t> values;
            const std::size_t count = 1 + random() % 4;
            while (values.size() < count)
                values.insert(static_cast<std::int64_t>(random() % 9));
            parameters.push_back({name, {values.begin(), values.end()}, ""});
            std::shuffle(parameters.back().values.begin(), parameters.back().values.end(), random);
        }
        const std::size_t count = random() % 4;
        for (std::size_t i = 0; i < count; ++i) {
            rules.push_back({random() % 4, random() % 4, static_cast<std::int64_t>(random() % 60)});
        }
    }

    // Every second rule goes through two derived quantities.
    [[nodiscard]] SearchSpace make() const {
        std::string values;
        std::string derived;
        std::string constraints;
        for (const Parameter& parameter : parameters) {
            values += "  " + parameter.name + ": {values: [";
            for (const std::int64_t value : parameter.values)
                values += std::to_string(value) + ", ";
            values += "]}\n";
        }
        for (std::size_t i = 0; i < rules.size(); ++i) {
            const std::string& left = parameters[rules[i].left].name;
            const std::string product = left + " * " + parameters[rules[i].right].name;
            const std::string name = std::to_string(i);
            if (i % 2 == 0) {
                derived += "  sum" + name + ": \"product" + name + " + " + left + "\"\n";
                derived += "  product" + name + ": \"" + product + "\"\n";
            }
            constraints += "  - \"" + (i % 2 == 0 ? "sum" + name : product + " + " + left) +
                           " <= " + std::to_string(rules[i].limit) + "\"\n";
        }
        return make_space(values, derived, constraints);
    }

    [[nodiscard]] std::vector<Config> product() const {
        std::vector<Config> result;
        for (const std::int64_t a : parameters[0].values) {
            for (const std::int64_t b : parameters[1].values) {
                for (const std::int64_t c : parameters[2].values) {
                    for (const std::int64_t d : parameters[3].values) {
                        result.push_back({{"a", a}, {"b", b}, {"c", c}, {"d", d}});
                    }
                }
            }
        }
        return result;
    }

    [[nodiscard]] bool accepts(const Config& config) const {
        return std::all_of(rules.begin(), rules.end(), [&](const Rule& rule) {
            const std::int64_t left = config.at(parameters[rule.left].name);
            return left * config.at(parameters[rule.right].name) + left <= rule.limit;
        });
    }
};

}  // namespace

TEST_CASE("enumeration is the filtered product in the order of the file") {
    std::mt19937_64 random(7);
    for (int i = 0; i < 200; ++i) {
        const RandomSpace expected(random);
        const SearchSpace space = expected.make();
        std::vector<Config> valid;
        for (const Config& config : expected.product()) {
            const bool accepted = expected.accepts(config);
            if (accepted) valid.push_back(config);
            REQUIRE(space.violation(test_problem(), test_device(), config).empty() == accepted);
        }
        REQUIRE(all_configs(space, test_problem(), test_device()) == valid);
    }
}

TEST_CASE("enumeration stops when it is told to") {
    const SearchSpace space = make_space(k_tiles);
    int visits = 0;
    space.enumerate(test_problem(), test_device(), [&](const Config&) { return ++visits < 3; });
    CHECK(visits == 3);
}

TEST_CASE("a space can be used from inside its own enumeration") {
    const SearchSpace space = make_space(k_tiles, "  d: \"a * b\"\n", "  - \"d + c <= 7\"\n");
    const std::vector<Config> expected = all_configs(space, test_problem(), test_device());
    std::vector<Config> seen;
    space.enumerate(test_problem(), test_device(), [&](const Config& config) {
        CHECK_FALSE(space.neighbours(test_problem(), test_device(), {{"a", 1}, {"b", 1}, {"c", 0}}).empty());
        CHECK(space.violation(test_problem(), test_device(), config).empty());
        seen.push_back(config);
        return true;
    });
    CHECK(seen == expected);
}

TEST_CASE("branches that break a constraint are never entered") {
    // 10^12 combinations; each parameter but the first must equal the one before.
    std::string parameters;
    std::string constraints;
    for (int i = 0; i < 12; ++i) {
        const std::string name = "p" + std::to_string(i);
        parameters += "  " + name + ": {values: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}\n";
        if (i > 0) constraints += "  - \"" + name + " == p" + std::to_string(i - 1) + "\"\n";
    }
    const SearchSpace space = make_space(parameters, "", constraints);
    CHECK(all_configs(space, test_problem(), test_device()).size() == 10);
}

TEST_CASE("a constraint protects the quantities and constraints after it") {
    // 16 / a is a fraction for a = 3, and b / (a - 4) divides by zero for a = 4: both are ruled out before.
    const SearchSpace space = make_space(
        "  b: {values: [0, 1]}\n  a: {values: [1, 2, 3, 4, 8]}\n", "  part: \"16 / a\"\n  other: \"b / (a - 4)\"\n",
        "  - \"divides(a, 16)\"\n  - \"a != 4\"\n  - \"part <= 16\"\n  - \"a < 4 ? b == 0 : 1\"\n  - \"b == 0\"\n");
    CHECK(all_configs(space, test_problem(), test_device()) ==
          std::vector<Config>{{{"a", 1}, {"b", 0}}, {{"a", 2}, {"b", 0}}, {{"a", 8}, {"b", 0}}});
}

TEST_CASE("an evaluation that fails names file and line") {
    const SearchSpace space = make_space("  a: {values: [1, 2]}\n", "  part: \"problem.kernel_h / a\"\n");
    Problem problem = test_problem();
    problem.kernel = {1, 1, 1};
    // The first line of derived is line 7 of the file.
    CHECK(error_of([&] {
              (void)space.plan(problem, test_device(), {{"a", 2}});
          }) == "test.yaml:7: \"problem.kernel_h / a\" is 0.5, which is no integer");
}

TEST_CASE("an evaluation that fails for every problem is found when the file is read") {
    const std::string error = error_of(
        [] { (void)make_space("  a: {values: [1, 2]}\n", "  part: \"problem.kernel_h / (problem.kernel_w - 3)\"\n"); });
    check_holds(error, "test.yaml:7: division of 3 by zero in");
}

TEST_CASE("drawing without repetition yields the whole space") {
    std::mt19937_64 random(13);
    const auto below = [&](std::uint64_t count) { return random() % count; };
    for (int i = 0; i < 50; ++i) {
        const SearchSpace space = RandomSpace(random).make();
        const std::vector<Config> valid = all_configs(space, test_problem(), test_device());
        std::set<Config> drawn;
        const auto is_new = [&](const Config& config) { return !drawn.contains(config); };
        while (const auto config = space.draw(test_problem(), test_device(), below, is_new)) {
            REQUIRE(drawn.insert(*config).second);
        }
        REQUIRE(drawn == std::set<Config>(valid.begin(), valid.end()));
    }
}

TEST_CASE("what a space says of a config does not depend on what it was asked before") {
    const auto make = [] {
        return make_space(
            "  a: {values: [1, 2, 3, 4]}\n  b: {values: [0, 1, 2]}\n  c: {values: [1, 2, 4]}\n",
            "  sum: {value: \"a + b\", constant: true}\n  product: \"sum * c\"\n  rest: {value: \"product % "
            "3 + b\", constant: true}\n",
            "  - \"product <= 16\"\n  - \"b == 0 || a % b == 0\"\n");
    };
    const SearchSpace asked = make();
    Random random(9);
    int valid = 0;
    for (int i = 0; i < 400; ++i) {
        const SearchSpace fresh = make();
        const Config config{{"a", static_cast<std::int64_t>(draw_below(random, 5))},  // 0 is no value
                            {"b", static_cast<std::int64_t>(draw_below(random, 3))},
                            {"c", std::int64_t{1} << draw_below(random, 3)}};
        const std::string violation = fresh.violation(test_problem(), test_device(), config);
        REQUIRE(asked.violation(test_problem(), test_device(), config) == violation);
        if (!violation.empty() || draw_below(random, 2) == 0) continue;
        ++valid;
        REQUIRE(asked.plan(test_problem(), test_device(), config) == fresh.plan(test_problem(), test_device(), config));
        REQUIRE(asked.kernel_constants(test_problem(), test_device(), config).at("sum") ==
                config.at("a") + config.at("b"));
    }
    CHECK(valid > 50);
}

TEST_CASE("a demand is asked of a config that was valid without it") {
    const std::vector<SearchSpace> spaces = load_search_spaces();
    const Demand strict{1e-4, true};
    int refused = 0;
    for (const SearchSpace& space : spaces) {
        for (const Config& config : space.defaults(test_problem(), test_device())) {
            REQUIRE(space.violation(test_problem(), test_device(), config).empty());
            const Expectation expected = space.expectation(test_problem(), test_device(), config);
            const bool meets = expected.strict && expected.error <= strict.tolerance;
            CHECK(space.violation(test_problem(), test_device(), config, strict).empty() == meets);
            refused += meets ? 0 : 1;
        }
    }
    CHECK(refused > 0);
}

TEST_CASE("drawing finds the few valid configs of a vast space") {
    // 10^12 combinations. Nine first values in ten lead into branches of 10^10 that only the last parameter rules out.
    std::string parameters;
    for (int i = 0; i < 12; ++i)
        parameters += "  p" + std::to_string(i) + ": {values: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}\n";
    const SearchSpace space = make_space(parameters, "", "  - \"p0 == 3 ? 1 : p11 == 10\"\n");
    std::mt19937_64 random(17);
    const auto config = space.draw(
        test_problem(), test_device(), [&](std::uint64_t count) { return random() % count; },
        [](const Config&) { return true; });
    REQUIRE(config.has_value());
    CHECK(config->at("p0") == 3);
}

TEST_CASE("a family refuses problems with its reason") {
    std::string text = space_text(k_tiles);
    text +=
        "applies:\n  - {rule: \"problem.dtype == f32\", because: \"test computes in fp32\"}\n"
        "  - \"device.compute_capability >= 90\"\n";
    const SearchSpace space = SearchSpace::parse(text, "test.yaml");
    CHECK(space.refusal(test_problem(), test_device()).empty());
    CHECK(all_configs(space, test_problem(), test_device()).size() == 18);

    Problem half = test_problem();
    half.dtype = DataType::f16;
    CHECK(space.refusal(half, test_device()) == "test computes in fp32");
    CHECK(all_configs(space, half, test_device()).empty());
    CHECK(space.violation(half, test_device(), {{"a", 1}, {"b", 1}, {"c", 0}}) == "test computes in fp32");
    CHECK(space.defaults(half, test_device()).empty());

    DeviceInfo old = test_device();
    old.compute_major = 8;
    CHECK(space.refusal(test_problem(), old) == "it breaks the rule \"device.compute_capability >= 90\"");
}

TEST_CASE("a violation names the rule") {
    const SearchSpace space = make_space(
        k_tiles, "", "  - {rule: \"a + b <= 6\", because: \"the tile must fit\"}\n  - \"c == 0 || a > 1\"\n");
    const auto violation = [&](const Config& config) { return space.violation(test_problem(), test_device(), config); };
    CHECK(violation({{"a", 1}, {"b", 1}, {"c", 0}}).empty());
    CHECK(violation({{"a", 4}, {"b", 3}, {"c", 0}}) == "the tile must fit");
    CHECK(violation({{"a", 1}, {"b", 1}, {"c", 1}}) == "it breaks the rule \"c == 0 || a > 1\"");
    CHECK(violation({{"a", 3}, {"b", 1}, {"c", 0}}) == "a is 3, which is not one of 1, 2, 4");
    CHECK(violation({{"a", 1}, {"b", 1}}) == "it lacks the parameter c");
    CHECK(violation({{"a", 1}, {"b", 1}, {"c", 0}, {"d", 0}}) == "d is no parameter of test");
}

TEST_CASE("neighbours differ by one step in one parameter") {
    std::mt19937_64 random(11);
    for (int i = 0; i < 50; ++i) {
        const RandomSpace expected(random);
        const SearchSpace space = expected.make();
        const std::vector<Config> valid = all_configs(space, test_problem(), test_device());
        for (const Config& config : valid) {
            std::set<Config> near;
            for (const Config& other : valid) {
                std::int64_t distance = 0;
                for (const Parameter& parameter : expected.parameters) {
                    const auto place = [&](const Config& c) {
                        return std::find(parameter.values.begin(), parameter.values.end(), c.at(parameter.name));
                    };
                    distance += std::abs(place(config) - place(other));
                }
                if (distance == 1) near.insert(other);
            }
            const std::vector<Config> found = space.neighbours(test_problem(), test_device(), config);
            REQUIRE(found.size() == near.size());
            REQUIRE(std::set<Config>(found.begin(), found.end()) == near);
        }
    }
}

TEST_CASE("neighbours come in the order of the file, down before up") {
    const SearchSpace space = make_space(k_tiles);
    CHECK(space.neighbours(test_problem(), test_device(), {{"a", 2}, {"b", 1}, {"c", 0}}) ==
          std::vector<Config>{{{"a", 1}, {"b", 1}, {"c", 0}},
                              {{"a", 4}, {"b", 1}, {"c", 0}},
                              {{"a", 2}, {"b", 3}, {"c", 0}},
                              {{"a", 2}, {"b", 2}, {"c", 0}},
                              {{"a", 2}, {"b", 1}, {"c", 1}}});
}

TEST_CASE("defaults that are not valid for a problem are passed over") {
    const SearchSpace space = make_space(k_tiles, "", "  - \"a * b <= problem.in_channels\"\n",
                                         "  - {a: 4, b: 3, c: 1}\n  - {a: 4, b: 2, c: 0}\n  - {a: 1, b: 1, c: 1}\n");
    CHECK(space.defaults(test_problem(), test_device()) ==
          std::vector<Config>{{{"a", 4}, {"b", 2}, {"c", 0}}, {{"a", 1}, {"b", 1}, {"c", 1}}});
    Problem wide = test_problem();
    wide.in_channels = 12;
    CHECK(space.defaults(wide, test_device()).size() == 3);
}

TEST_CASE("a plan holds the numbers worked out by hand") {
    const SearchSpace space = SearchSpace::parse(R"yaml(
family: direct
template: direct.cu
description: For tests.
parameters:
  tile_w: {values: [4, 8]}
  block: {values: [32, 64]}
derived:
  tiles_w: "ceil_div(ceil_div(problem.output_w, problem.phases_w), tile_w)"
  input_tile: {value: "tile_w + problem.halo_w", constant: true}
  warps: {value: "block / device.warp_size", constant: true, description: "a block"}
launches:
  - kernel: tconv_pack
    grid: ["2", "1", "1"]
    batch_axis: none
    block: ["32", "1", "1"]
    alignment: "4"
    weights_only: true
    arguments: [weight, packed_weight, {values: ["tile_w", "-1"]}]
  - kernel: tconv_unused
    when: "tile_w > 64"
    grid: ["tile_w - 64", "1", "1"]
    batch_axis: none
    block: ["32", "1", "1"]
    alignment: "256"
    arguments: [input]
  - kernel: tconv_direct
    when: "tile_w <= 64"
    grid: ["tiles_w", "problem.out_channels / 4", "problem.output_h"]
    batch_axis: y
    batch_tile: "block / 16"
    cluster: "tiles_w"
    block: ["block", "1", "1"]
    shared_bytes: "4 * input_tile * problem.in_channels"
    alignment: "4 * tile_w"
    arguments: [input, {packed_weight: "2 * tile_w"}, {workspace: "4 * tile_w"}, bias, output, batch]
workspace_bytes: "1000"
packed_weight_bytes: "4 * problem.weight_elements"
workspace_bytes_per_batch: "16 * tile_w"
)yaml",
                                                 "direct.yaml");
    // 20 inputs, stride 2, kernel 4: output 19 * 2 + 3 + 1 = 42, 21 a phase; taps {0, 2} and {1, 3}: halo 1.
    const Config config{{"tile_w", 8}, {"block", 64}};
    const LaunchPlan plan = space.plan(test_problem(), test_device(), config);
    CHECK(plan.source_file == "direct.cu");
    CHECK(plan.constants == Config{{"input_tile", 9}, {"warps", 2}});
    CHECK(space.kernel_constants(test_problem(), test_device(), config) == plan.constants);
    CHECK(plan.workspace_bytes == 1000);
    CHECK(plan.packed_weight_bytes == 4 * 8 * 12 * 3 * 4);
    CHECK(plan.workspace_bytes_per_batch == 128);
    CHECK(plan.alignment == 32);  // the most that a launch asks for
    REQUIRE(plan.launches.size() == 2);

    const Launch& pack = plan.launches[0];
    CHECK(pack.kernel == "tconv_pack");
    CHECK(pack.grid == std::array<std::int64_t, 3>{2, 1, 1});
    CHECK(pack.batch_axis == -1);
    CHECK(pack.batch_tile == 1);
    CHECK(pack.cluster == 1);
    CHECK(pack.shared_bytes == 0);
    CHECK(pack.arguments == std::vector<Argument>{{ArgumentKind::weight, 0, {}},
                                                  {ArgumentKind::packed_weight, 0, {}},
                                                  {ArgumentKind::values, 0, {8, -1}}});
    CHECK(pack.weights_only);

    const Launch& direct = plan.launches[1];
    CHECK(direct.grid == std::array<std::int64_t, 3>{3, 3, 12});
    CHECK(direct.block == std::array<std::int64_t, 3>{64, 1, 1});
    CHECK(direct.batch_axis == 1);
    CHECK(direct.batch_tile == 4);
    CHECK(direct.cluster == 3);
    CHECK(direct.shared_bytes == 4 * 9 * 8);
    CHECK_FALSE(direct.weights_only);
    CHECK(direct.arguments == std::vector<Argument>{{ArgumentKind::input, 0, {}},
                                                    {ArgumentKind::packed_weight, 16, {}},
                                                    {ArgumentKind::workspace, 32, {}},
                                                    {ArgumentKind::bias, 0, {}},
                                                    {ArgumentKind::output, 0, {}},
                                                    {ArgumentKind::batch, 0, {}}});
    check_plan(plan, test_problem(), test_device());
}

TEST_CASE("a plan holds the numbers of a tensor map") {
    const SearchSpace space = SearchSpace::parse(R"yaml(
family: boxes
template: direct.cu
description: For tests.
parameters:
  tile_w: {values: [8, 16]}
launch:
  kernel: tconv_boxes
  grid: [1, 1, 1]
  batch_axis: z
  block: [32, 1, 1]
  arguments:
    - output
    - tensor_map:
        of: input
        offset: "64"
        extents: [problem.input_w, "problem.input_h - 1", problem.in_channels]
        strides_bytes: ["4 * problem.input_w", "4 * problem.input_w * problem.input_h"]
        box: [tile_w, 2, 4]
        swizzle: "tile_w == 8 ? 32 : 64"
        batch_dimension: 2
    - {tensor_map: {of: weight, element: u8, extents: [64], strides_bytes: [], box: [16], l2_promotion: 0}}
)yaml",
                                                 "boxes.yaml");
    const LaunchPlan plan = space.plan(test_problem(), test_device(), {{"tile_w", 16}});
    REQUIRE(plan.launches[0].arguments.size() == 3);
    const Argument& input = plan.launches[0].arguments[1];
    CHECK(input.kind == ArgumentKind::tensor_map);
    CHECK(input.mapped == ArgumentKind::input);
    CHECK(input.offset == 64);
    CHECK(input.map == TensorMap{MapElement::f32, {20, 9, 8}, {80, 800}, {16, 2, 4}, 64, 2, 128});
    const Argument& weight = plan.launches[0].arguments[2];
    CHECK(weight.mapped == ArgumentKind::weight);
    CHECK(weight.offset == 0);
    CHECK(weight.map == TensorMap{MapElement::u8, {64}, {}, {16}, 0, -1, 0});
    check_plan(plan, test_problem(), test_device());

    Problem half = test_problem();
    half.dtype = DataType::f16;
    CHECK(space.plan(half, test_device(), {{"tile_w", 8}}).launches[0].arguments[1].map.element == MapElement::f16);
}

TEST_CASE("a launch that says nothing of its alignment asks for that of the widest access") {
    const SearchSpace space = make_space("  a: {values: [1]}\n");
    CHECK(space.plan(test_problem(), test_device(), {{"a", 1}}).alignment == 16);
}

TEST_CASE("no plan is made for a config that is not valid") {
    const SearchSpace space = make_space(k_tiles, "", "  - {rule: \"a < 4\", because: \"too large\"}\n");
    CHECK(error_of([&] {
              (void)space.plan(test_problem(), test_device(), {{"a", 4}, {"b", 1}, {"c", 0}});
          }) == "the config a=4 b=1 c=0 is not valid for the family test: too large");
}

TEST_CASE("answers follow the problem and the device of each call") {
    const SearchSpace space = make_space("  a: {values: [1, 2, 3, 4]}\n", "",
                                         "  - \"a <= problem.in_channels\"\n  - \"a <= device.multiprocessors\"\n");
    Problem narrow = test_problem();
    narrow.in_channels = 2;
    DeviceInfo small = test_device();
    small.multiprocessors = 3;
    for (int i = 0; i < 2; ++i) {
        CHECK(all_configs(space, test_problem(), test_device()).size() == 4);
        CHECK(all_configs(space, narrow, test_device()).size() == 2);
        CHECK(all_configs(space, test_problem(), small).size() == 3);
    }
}
