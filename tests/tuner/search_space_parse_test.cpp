#include "tests/catch.hpp"
#include "tests/tuner/spaces_for_tests.hpp"

using namespace tconv;
using tconv::testing::check_holds;
using tconv::testing::error_of;

namespace {

// One key a line, so that a test can replace or add lines and know their numbers.
const std::vector<std::string> k_good = {
    "family: direct",                                         // 1
    "template: direct.cu",                                    // 2
    "description: For tests.",                                // 3
    "applies:",                                               // 4
    "  - {rule: \"problem.dtype == f32\", because: no f16}",  // 5
    "parameters:",                                            // 6
    "  tile: {values: [8, 16, 32], description: outputs}",    // 7
    "  block: {values: [64, 128]}",                           // 8
    "derived:",                                               // 9
    "  pixels: \"tile * block\"",                             // 10
    "  bytes: {value: \"4 * pixels\", constant: true}",       // 11
    "constraints:",                                           // 12
    "  - \"divides(tile, block)\"",                           // 13
    "launch:",                                                // 14
    "  kernel: tconv_direct",                                 // 15
    "  grid: [\"tile\", \"1\", \"1\"]",                       // 16
    "  batch_axis: z",                                        // 17
    "  block: [\"block\", \"1\", \"1\"]",                     // 18
    "  shared_bytes: \"bytes\"",                              // 19
    "  arguments: [input, weight, bias, output, batch]",      // 20
    "workspace_bytes: \"0\"",                                 // 21
    "defaults:",                                              // 22
    "  - {tile: 8, block: 64}",                               // 23
};

std::string parse_error(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines)
        text += line + "\n";
    return error_of([&] { (void)SearchSpace::parse(text, "a.yaml"); });
}

std::vector<std::string> with_line(std::size_t number, const std::string& line) {
    std::vector<std::string> lines = k_good;
    lines[number - 1] = line;
    return lines;
}

std::string replaced(std::size_t number, const std::string& line) {
    return parse_error(with_line(number, line));
}

std::string after(std::size_t number, const std::string& line) {
    std::vector<std::string> lines = k_good;
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(number), line);
    return parse_error(lines);
}

}  // namespace

TEST_CASE("a right file is taken") {
    CHECK(parse_error(k_good) == "no error");
    std::string text;
    for (const std::string& line : k_good)
        text += line + "\n";
    const SearchSpace space = SearchSpace::parse(text, "a.yaml");
    CHECK(space.name() == "direct");
    CHECK(space.template_file() == "direct.cu");
    CHECK(space.description() == "For tests.");
    REQUIRE(space.parameters().size() == 2);
    CHECK(space.parameters()[0].name == "tile");
    CHECK(space.parameters()[0].values == std::vector<std::int64_t>{8, 16, 32});
    CHECK(space.parameters()[0].description == "outputs");
    CHECK_FALSE(space.parameters()[0].former);
}

TEST_CASE("a parameter's former value is read and checked with its line") {
    const SearchSpace space = testing::make_space("  tile: {values: [8, 16], former: 16, description: outputs}\n");
    CHECK(space.parameters()[0].former == 16);
    CHECK(replaced(8, "  block: {values: [64, 128], former: 64}") == "no error");
    CHECK(replaced(8, "  block: {values: [64, 128],\n   former: 32}") ==
          "a.yaml:9: former of parameter block (32) is none of its values");
    CHECK(replaced(8, "  block: {values: [64, 128], former: few}") ==
          "a.yaml:8: former of parameter block must be an integer of at most 2^53 in size, not \"few\"");
    CHECK(replaced(8, "  block: {values: [64, 128], formerly: 64}") ==
          "a.yaml:8: unknown key formerly in parameter block; known are values, description, former");
}

TEST_CASE("keys are checked with their lines") {
    CHECK(after(2, "tepmlate: x.cu") ==
          "a.yaml:3: unknown key tepmlate in the search space; known are family, template, description, parameters, "
          "applies, derived, constraints, launch, launches, workspace_bytes, workspace_bytes_per_batch, "
          "workspace_batch_tile, packed_weight_bytes, defaults, error, strict, exact_on_integers, cost, time");
    CHECK(after(20, "template: other.cu") == "a.yaml:21: duplicate key template in the search space");
    CHECK(after(7, "  tile: {values: [1]}") == "a.yaml:8: duplicate key tile in parameters");
    CHECK(after(17, "  kernel: tconv_other") == "a.yaml:18: duplicate key kernel in launch");
    CHECK(replaced(7, "  tile: {values: [8, 16, 32], values: [1]}") ==
          "a.yaml:7: duplicate key values in parameter tile");
    CHECK(replaced(23, "  - {tile: 8, block: 64, tile: 16}") == "a.yaml:23: duplicate key tile in a default");
    CHECK(replaced(1, "famly: direct") != "no error");
    CHECK(replaced(1, "# nothing") == "a.yaml:2: the search space lacks the key family");
    CHECK(replaced(15, "  # nothing") == "a.yaml:14: launch lacks the key kernel");
    CHECK(replaced(7, "  tile: {description: outputs}") == "a.yaml:7: parameter tile lacks the key values");
    CHECK(replaced(5, "  - {because: no f16}") == "a.yaml:5: a rule of applies lacks the key rule");
    CHECK(replaced(11, "  bytes: {value: \"1\", constnat: true}") ==
          "a.yaml:11: unknown key constnat in derived quantity bytes; known are value, constant, description");
    CHECK(replaced(11, "  bytes: {value: \"1\", constant: yes}") ==
          "a.yaml:11: constant must be true or false, not yes");
}

TEST_CASE("YAML that cannot be read is reported with its line") {
    check_holds(replaced(7, "  tile: {values: [8, 16"), "a.yaml:");
    check_holds(replaced(7, "  tile: {values: [8, 16"), "not valid YAML");
    check_holds(replaced(3, "description: a: b"), "a.yaml:3: not valid YAML");
    CHECK(parse_error({}) == "a.yaml:1: the file is empty");
    CHECK(parse_error({"- a", "- b"}) == "a.yaml:1: the search space must be a mapping");
    check_holds(after(23, "---\nfamily: other"), "a second follows");
}

TEST_CASE("values are checked with their lines") {
    CHECK(replaced(7, "  tile: {values: []}") == "a.yaml:7: parameter tile has no values");
    CHECK(replaced(7, "  tile: {values: [8, 16, 8]}") == "a.yaml:7: parameter tile has the value 8 twice");
    CHECK(replaced(7, "  tile: {values: [8, 1.5]}") ==
          "a.yaml:7: a value of parameter tile must be an integer of at most 2^53 in size, not \"1.5\"");
    check_holds(replaced(7, "  tile: {values: [99999999999999999999]}"), "a.yaml:7:");
    check_holds(replaced(7, "  tile: {values: [[1]]}"), "must be an integer");
    CHECK(replaced(7, "  tile: {values: 8}") == "a.yaml:7: values must be a list");
    check_holds(replaced(7, "  Tile: {values: [8]}"), "a.yaml:7: the parameter \"Tile\" must be a name");
    CHECK(replaced(7, "  min: {values: [8]}") == "a.yaml:7: the parameter min has a name that expressions use already");
    CHECK(replaced(7, "  f16: {values: [8]}") == "a.yaml:7: the parameter f16 has a name that expressions use already");
    CHECK(replaced(10, "  block: \"tile\"") == "a.yaml:10: the derived quantity block is already defined in line 8");
    check_holds(replaced(1, "family: Direct Kernel"), "a.yaml:1: family");
    CHECK(replaced(2, "template:") == "a.yaml:2: template must be a text that is not empty");
}

TEST_CASE("expressions are checked with their lines") {
    CHECK(replaced(10, "  pixels: \"tile * blok\"") == "a.yaml:10: unknown name blok in \"tile * blok\"");
    CHECK(replaced(13, "  - \"tile <= problem.width\"") ==
          "a.yaml:13: unknown name problem.width in \"tile <= problem.width\"");
    CHECK(replaced(16, "  grid: [\"tile\", \"nothing\", \"1\"]") == "a.yaml:16: unknown name nothing in \"nothing\"");
    CHECK(replaced(19, "  shared_bytes: \"byte\"") == "a.yaml:19: unknown name byte in \"byte\"");
    CHECK(replaced(21, "workspace_bytes: \"size\"") == "a.yaml:21: unknown name size in \"size\"");
    CHECK(replaced(13, "  - {rule: \"tile <\"}").find("a.yaml:13: cannot read the expression \"tile <\"") == 0);
    CHECK(replaced(13, "  - [tile]") == "a.yaml:13: a rule of constraints must be an expression (a text in quotes)");
    CHECK(replaced(5, "  - \"tile == 8\"") ==
          "a.yaml:5: \"tile == 8\" uses tile, but applies may use problem.* and device.* alone");
    CHECK(replaced(10, "  pixels: \"bytes + tile\"") ==
          "a.yaml:10: derived quantities depend on each other in a circle: pixels -> bytes -> pixels");
    CHECK(replaced(10, "  pixels: \"pixels + tile\"") ==
          "a.yaml:10: derived quantities depend on each other in a circle: pixels -> pixels");
}

TEST_CASE("launches are checked with their lines") {
    CHECK(replaced(20, "  arguments: [input, wieght]") ==
          "a.yaml:20: unknown argument wieght; known are input, weight, bias, output, workspace, "
          "packed_weight, batch, {workspace: offset}, {packed_weight: offset}, {values: [...]} and "
          "{tensor_map: {...}}");
    CHECK(replaced(20, "  arguments: [values]").starts_with("a.yaml:20: unknown argument values; known are input, "));
    CHECK(replaced(20, "  arguments: [{workspace: \"0\", values: [\"1\"]}]") ==
          "a.yaml:20: an argument holds one of workspace, packed_weight, values and tensor_map");
    CHECK(replaced(20, "  arguments: [{values: []}]") == "a.yaml:20: the argument values is an empty list");
    CHECK(replaced(16, "  grid: [\"1\", \"1\"]") == "a.yaml:16: grid must be a list of 3 expressions (x, y, z), not 2");
    CHECK(after(19, "  alignment: \"tile + 1\"") ==
          "a.yaml:20: alignment \"tile + 1\" is 9, but must be a power of two of at most 256");
    check_holds(after(19, "  alignment: \"512\""), "is 512, but must be a power of two of at most 256");
    check_holds(after(19, "  alignment: \"2\""), "a.yaml:20: alignment \"2\" is 2, but must be at least 4");
    CHECK(after(19, "  alignment: \"vector\"") == "a.yaml:20: unknown name vector in \"vector\"");
    CHECK(replaced(17, "  batch_axis: w") == "a.yaml:17: batch_axis must be x, y, z or none, not w");
    CHECK(after(17, "  batch_tile: \"tile - 8\"") == "a.yaml:18: batch_tile \"tile - 8\" is 0, but must be at least 1");
    CHECK(after(17, "  cluster: \"tile - 8\"") == "a.yaml:18: cluster \"tile - 8\" is 0, but must be at least 1");
    CHECK(after(17, "  batch_tile: \"entries\"") == "a.yaml:18: unknown name entries in \"entries\"");
    CHECK(replaced(17, "  batch_axis: none\n  batch_tile: \"1\"") ==
          "a.yaml:18: batch_tile needs a batch_axis, but that is none");
    CHECK(after(17, "  when: \"tile\"") == "a.yaml:18: the rule \"tile\" is 8, which is neither 0 nor 1");
    CHECK(after(17, "  when: \"entries\"") == "a.yaml:18: unknown name entries in \"entries\"");
    CHECK(after(17, "  weights_only: maybe") == "a.yaml:18: weights_only must be true or false, not maybe");
    CHECK(after(17, "  weights_only: true") == "a.yaml:18: a weights_only launch needs batch_axis none");
    CHECK(replaced(17, "  batch_axis: none\n  weights_only: 1") ==
          "a.yaml:18: a weights_only launch may take weight, packed_weight and values alone");
    CHECK(replaced(21, "packed_weight_bytes: \"-tile\"") ==
          "a.yaml:21: packed_weight_bytes \"-tile\" is -8, but must be at least 0");
    check_holds(replaced(15, "  kernel: 3d kernel"), "a.yaml:15: kernel \"3d kernel\" is no name");
    CHECK(after(23, "launches: []") == "a.yaml:1: the search space needs either the key launch or the key launches");
}

TEST_CASE("tensor maps are checked with their lines") {
    const auto with_map = [](const std::string& fields) {
        return replaced(20, "  arguments: [output, {tensor_map: {" + fields + "}}]");
    };
    const std::string good = "of: input, extents: [tile, 2], strides_bytes: [64], box: [16, 2]";
    CHECK(with_map(good) == "no error");
    CHECK(with_map(good + ", element: tf32, offset: tile, swizzle: 64, batch_dimension: 1, l2_promotion: 256") ==
          "no error");
    CHECK(with_map("of: input, extents: [4], box: [4]") == "a.yaml:20: tensor_map lacks the key strides_bytes");
    CHECK(with_map(good + ", interleave: 16").find("a.yaml:20: unknown key interleave in tensor_map") == 0);
    CHECK(with_map("of: bias, extents: [4], strides_bytes: [], box: [4]") ==
          "a.yaml:20: a tensor map is of input, weight, output, workspace or packed_weight, not bias");
    CHECK(with_map(good + ", element: f64") == "a.yaml:20: element (f64) must be f32, tf32, f16, bf16 or u8, or dtype");
    CHECK(with_map("of: input, extents: [4, 4], strides_bytes: [64, 64], box: [4, 4]") ==
          "a.yaml:20: a tensor map of 2 extents needs as many of box and one less of strides_bytes, not 2 and 2");
    CHECK(with_map(good + ", swizzle: width") == "a.yaml:20: unknown name width in \"width\"");
    CHECK(with_map("of: input, extents: [width], strides_bytes: [], box: [4]") ==
          "a.yaml:20: unknown name width in \"width\"");
    CHECK(with_map("of: input, extents: [tile / 3], strides_bytes: [], box: [4]") ==
          "a.yaml:20: \"tile / 3\" is 2.6666666666666665, which is no integer");
    CHECK(with_map(good + ", offset: -tile") == "a.yaml:20: the offset \"-tile\" is -8, but must be at least 0");
}

TEST_CASE("defaults are checked with their lines") {
    CHECK(replaced(23, "  - {tile: 8}") == "a.yaml:23: a default lacks the parameter block");
    CHECK(replaced(23, "  - {tile: 8, block: 64, warps: 2}") ==
          "a.yaml:23: a default sets warps, which is no parameter");
    CHECK(replaced(23, "  - {tile: 8, block: 65}") ==
          "a.yaml:23: a default sets block to 65, but its values are 64, 128");
    check_holds(replaced(23, "  - {tile: 8, block: many}"), "a.yaml:23: block must be an integer");
}

TEST_CASE("an evaluation that must fail is found when the file is read") {
    CHECK(replaced(10, "  pixels: \"tile / 3\"") ==
          "a.yaml:10: \"tile / 3\" is 2.6666666666666665, which is no integer");
    CHECK(replaced(13, "  - \"tile % 0 == 0\"") == "a.yaml:13: % of 8 by zero in \"tile % 0 == 0\"");
    CHECK(replaced(13, "  - \"tile\"") == "a.yaml:13: the rule \"tile\" is 8, which is neither 0 nor 1");
    CHECK(replaced(5, "  - \"problem.batch\"") != "no error");
    CHECK(replaced(16, "  grid: [\"tile - 8\", \"1\", \"1\"]") ==
          "a.yaml:16: the grid extent \"tile - 8\" is 0, but must be at least 1");
    CHECK(replaced(21, "workspace_bytes: \"-tile\"") ==
          "a.yaml:21: workspace_bytes \"-tile\" is -8, but must be at least 0");
}
