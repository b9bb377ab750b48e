#include "tools/layers.hpp"

#include <filesystem>
#include <fstream>

#include "tests/tools/rejects.hpp"

using namespace tconv;
using tests::check_rejection;

namespace {

std::vector<Layer> parse(const std::string& text) {
    return parse_layers(text, "f.yaml", DataType::f32, Layout::nchw);
}

/// A file whose third line is a layer with these fields.
std::string with_layer(const std::string& fields) {
    return "# layers\ngroup:\n  - {" + fields + "}\n";
}

constexpr const char* k_good = "name: a, n: 1, c_in: 2, c_out: 3, input: [5], kernel: 3";

}  // namespace

TEST_CASE("the bundled suite loads whole") {
    const std::vector<Layer> layers = read_layers(TCONV_LAYER_SUITE, DataType::f32, Layout::nchw);
    REQUIRE(layers.size() == 36);
    CHECK(layers[0].name == "seed3d");
    CHECK(layers[0].group == "headline");
    CHECK(key(layers[0].problem) == "3d n8 ci48 co24 g1 i96x96x96 k3x3x3 s1x1x1 p0x0x0 op0x0x0 d1x1x1 nobias f32 nchw");
    CHECK(key(layers[1].problem) == "1d n16 ci32 co64 g1 i131072 k3 s2 p1 op0 d2 nobias f32 nchw");
    CHECK(layers.back().name == "decoder_k3s2_3d");
    CHECK(layers.back().problem.bias);
    CHECK(layers.back().problem.output_padding == Extents{1, 1, 1});
}

TEST_CASE("one number counts for all axes, a list for one each") {
    const auto layers =
        parse(with_layer("name: a, from: some net, n: 2, c_in: 4, c_out: 6, input: [5, 7], kernel: [3, 2], "
                         "stride: [2, 1], padding: 1, output_padding: [1, 0], dilation: 1, groups: 2, "
                         "bias: true"));
    REQUIRE(layers.size() == 1);
    CHECK(layers[0].from == "some net");
    CHECK(key(layers[0].problem) == "2d n2 ci4 co6 g2 i5x7 k3x2 s2x1 p1x1 op1x0 d1x1 bias f32 nchw");
}

TEST_CASE("a faulty layer file is named with its line") {
    struct Case {
        std::string text;
        std::vector<std::string> parts;
    };
    const std::string good = k_good;
    const std::vector<Case> table{
        {"", {"f.yaml:1:", "must be a map"}},
        {"- 1\n- 2\n", {"f.yaml:1:", "must be a map"}},
        {"text\n", {"f.yaml:1:", "must be a map"}},
        {"a: [1\nb: }\n", {"f.yaml:2:", "no YAML"}},
        {"---\na:\n  - {" + good + "}\n---\nb: 1\n", {"f.yaml:5:", "one document"}},
        {"\ngroup: 7\n", {"f.yaml:2:", "group group must be a list"}},
        {"\ngroup: []\n", {"f.yaml:2:", "one or more"}},
        {"group:\n", {"f.yaml:1:", "must be a list"}},
        {"group:\n  - just text\n", {"f.yaml:2:", "must be a map"}},
        {"bad name!:\n  - {" + good + "}\n", {"f.yaml:1:", "group name (bad name!)"}},
        {with_layer(good + ", colour: red"), {"f.yaml:3:", "unknown key (colour)", "output_padding"}},
        {with_layer(good + ", n: 2"), {"f.yaml:3:", "key n stands twice"}},
        {with_layer("n: 1, c_in: 2, c_out: 3, input: [5], kernel: 3"), {"f.yaml:3:", "no name"}},
        {with_layer("name: a, n: 1, c_in: 2, c_out: 3, input: [5]"), {"f.yaml:3:", "no kernel"}},
        {with_layer("name: a, n: x, c_in: 2, c_out: 3, input: [5], kernel: 3"), {"f.yaml:3:", "n (x)", "whole number"}},
        {with_layer("name: a, n: '1', c_in: 2, c_out: 3, input: [5], kernel: 3"), {"f.yaml:3:", "n (1)", "whole"}},
        {with_layer("name: a, n: 1.5, c_in: 2, c_out: 3, input: [5], kernel: 3"), {"f.yaml:3:", "n (1.5)"}},
        {with_layer("name: a, n: , c_in: 2, c_out: 3, input: [5], kernel: 3"), {"f.yaml:3:", "n (", "whole number"}},
        {with_layer("name: a, n: [1], c_in: 2, c_out: 3, input: [5], kernel: 3"), {"f.yaml:3:", "n (no single value)"}},
        {with_layer("name: a, n: 99999999999999999999, c_in: 2, c_out: 3, input: [5], kernel: 3"),
         {"f.yaml:3:", "64 bits"}},
        {with_layer("name: a, n: 1, c_in: 2, c_out: 3, input: 5, kernel: 3"), {"f.yaml:3:", "input must be a list"}},
        {with_layer("name: a, n: 1, c_in: 2, c_out: 3, input: [], kernel: 3"), {"f.yaml:3:", "1, 2 or 3 sizes"}},
        {with_layer("name: a, n: 1, c_in: 2, c_out: 3, input: [5, 5, 5, 5], kernel: 3"), {"f.yaml:3:", "1, 2 or 3"}},
        {with_layer("name: a, n: 1, c_in: 2, c_out: 3, input: [5, 5], kernel: [3, 3, 3]"),
         {"f.yaml:3:", "kernel has 3 numbers", "2 axes"}},
        {with_layer("name: a, n: 1, c_in: 2, c_out: 3, input: [5], kernel: {w: 3}"), {"f.yaml:3:", "kernel ("}},
        {with_layer(good + ", bias: yes"), {"f.yaml:3:", "bias must be true or false"}},
        {with_layer(good + ", bias: 1"), {"f.yaml:3:", "bias must be true or false"}},
        {with_layer(good + ", from: [a]"), {"f.yaml:3:", "from must be text"}},
        {with_layer("name: 'a b', n: 1, c_in: 2, c_out: 3, input: [5], kernel: 3"), {"f.yaml:3:", "name (a b)"}},
        {with_layer(good + ", stride: 0"), {"f.yaml:3:", "layer a:", "stride (0)", "at least 1"}},
        {with_layer(good + ", groups: 2"), {"f.yaml:3:", "layer a:", "groups (2)", "out_channels (3)"}},
        {with_layer(good) + "  - {" + good + "}\n", {"f.yaml:4:", "the name a is used twice"}},
        {with_layer(good) + "a:\n  - {name: b, n: 1, c_in: 1, c_out: 1, input: [1], kernel: 1}\n",
         {"f.yaml:4:", "the name a is used twice"}},
        {with_layer(good) + "group:\n  - {name: b, n: 1, c_in: 1, c_out: 1, input: [1], kernel: 1}\n",
         {"f.yaml:4:", "group is used twice"}},
    };
    for (const Case& c : table) {
        INFO(c.text);
        check_rejection([&] { (void)parse(c.text); }, c.parts);
    }
}

TEST_CASE("truncating or mangling the suite never ends in anything but a rejection") {
    std::ifstream stream(TCONV_LAYER_SUITE);
    const std::string whole{std::istreambuf_iterator<char>(stream), {}};
    for (std::size_t length = 0; length < whole.size(); length += 97) {
        std::string mangled = whole.substr(0, length);
        for (const char byte : {'\0', '{', '\t', '\xff'}) {
            try {
                (void)parse(mangled + byte + whole.substr(length));
                (void)parse(mangled);
            } catch (const Error& error) {
                CHECK(error.kind() == ErrorKind::bad_input);
                CHECK(std::string(error.what()).find("f.yaml:") == 0);
            }
        }
    }
}

TEST_CASE("a layer file that cannot be read is named") {
    const auto read = [](const std::filesystem::path& path) { (void)read_layers(path, DataType::f32, Layout::nchw); };
    check_rejection([&] { read("/nonexistent/layers.yaml"); }, {"/nonexistent/layers.yaml", "No such file"});
    check_rejection([&] { read(std::filesystem::temp_directory_path()); }, {"it is a directory"});
    check_rejection([&] { read(""); }, {"layer file ()", "cannot be read"});
}
