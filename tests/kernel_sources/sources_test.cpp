#include "kernel_sources/sources.hpp"

#include <cstdlib>
#include <fstream>
#include <string>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/scratch_folder.hpp"

using namespace tconv;

namespace {

/// A folder of kernel sources in use for the life of the object.
class SourceFolder {
public:
    SourceFolder() { setenv("TCONV_KERNEL_SOURCES", folder_.path().c_str(), 1); }
    SourceFolder(const SourceFolder&) = delete;
    SourceFolder& operator=(const SourceFolder&) = delete;
    ~SourceFolder() { unsetenv("TCONV_KERNEL_SOURCES"); }
    void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }

private:
    test::ScratchFolder folder_;
};

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++found;
    return found;
}

}  // namespace

TEST_CASE("includes are expanded once, in place, with their lines") {
    const SourceFolder folder;
    folder.write("top.cu", "#include \"a.cuh\"\n#include \"b.cuh\"\nint top;\n");
    folder.write("a.cuh", "#pragma once\n#include \"b.cuh\"\nint a;\n");
    folder.write("b.cuh", "#pragma once\nint b;\n");
    const std::string text = expand_includes("top.cu");
    CHECK(count(text, "int b;") == 1);
    CHECK(count(text, "#include") == 0);
    CHECK(text.find("int b;") < text.find("int a;"));
    CHECK(text.find("#line 3 \"top.cu\"\nint top;") != std::string::npos);
    CHECK(text.find("#line 3 \"a.cuh\"\nint a;") != std::string::npos);
}

TEST_CASE("the template hash follows the whole include closure and nothing else") {
    const SourceFolder folder;
    folder.write("top.cu", "#include \"a.cuh\"\nint top;\n");
    folder.write("a.cuh", "int a;\n");
    folder.write("other.cuh", "int other;\n");
    const std::string before = template_hash("top.cu");
    CHECK(before.size() == 16);
    folder.write("other.cuh", "int changed;\n");
    CHECK(template_hash("top.cu") == before);
    folder.write("a.cuh", "int changed;\n");
    CHECK(template_hash("top.cu") != before);
}

TEST_CASE("a missing source is named") {
    CHECK_THROWS_WITH(kernel_source("none.cu"), contains("none.cu"));
    const SourceFolder folder;
    folder.write("top.cu", "#include \"gone.cuh\"\n");
    CHECK_THROWS_WITH(expand_includes("top.cu"), contains("gone.cuh"));
}

TEST_CASE("the embedded sources need nothing from outside") {
    for (const std::string& name : kernel_source_names()) {
        INFO(name);
        CHECK(count(expand_includes(name), "#include") == 0);
    }
}

TEST_CASE("the prelude holds the problem and the config, but not the batch") {
    Problem p;
    p.in_channels = 6;
    p.input = {1, 5, 7};
    p.batch = 3;
    Problem other = p;
    other.batch = 9;
    const Config config{{"tile_w", 16}, {"large", std::int64_t{1} << 40}};
    const std::string text = prelude(p, config);
    CHECK(text == prelude(other, config));
    CHECK(text.find("constexpr long long input_w = 7;") != std::string::npos);
    CHECK(text.find("constexpr int tile_w = 16;") != std::string::npos);
    CHECK(text.find("constexpr long long large = 1099511627776;") != std::string::npos);
    CHECK(text.find("constexpr bool wide_index = false;") != std::string::npos);
    p.input = {1, 70000, 70000};
    CHECK(prelude(p, config).find("constexpr bool wide_index = true;") != std::string::npos);
}

TEST_CASE("a config asks for the order of its source or for nothing") {
    CHECK(compiler_options({{"tile_w", 8}}).empty());
    CHECK(compiler_options({{"source_order", 0}, {"tile_w", 8}}).empty());
    CHECK(compiler_options({{"source_order", 1}}) == std::vector<std::string>{"--ptxas-options=-O1"});
}
