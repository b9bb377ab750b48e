#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/catch.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/tuner/spaces_for_tests.hpp"

using namespace tconv;
using namespace tconv::testing;

namespace {

// A fresh folder that TCONV_SEARCH_SPACES names while the object lives.
class SpacesFolder {
public:
    SpacesFolder() { setenv("TCONV_SEARCH_SPACES", folder_.path().c_str(), 1); }
    SpacesFolder(const SpacesFolder&) = delete;
    SpacesFolder& operator=(const SpacesFolder&) = delete;
    ~SpacesFolder() { unsetenv("TCONV_SEARCH_SPACES"); }

    void write(const std::string& file, const std::string& family) const {
        std::string text = space_text("  a: {values: [1]}\n");
        text.replace(text.find("test"), 4, family);
        std::ofstream(folder_ / file) << "# A comment first.\n" << text;
    }
    [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }

private:
    test::ScratchFolder folder_;
};

}  // namespace

TEST_CASE("the embedded search spaces are sound") {
    unsetenv("TCONV_SEARCH_SPACES");
    std::vector<std::string> names;
    for (const SearchSpace& space : load_search_spaces())
        names.push_back(space.name());
    CHECK(std::is_sorted(names.begin(), names.end()));
    CHECK(std::find(names.begin(), names.end(), "direct") != names.end());
}

TEST_CASE("a folder replaces the embedded search spaces") {
    const SpacesFolder folder;
    folder.write("z.yaml", "first");
    folder.write("a.yaml", "second");
    folder.write("notes.txt", "third");
    const std::vector<SearchSpace> spaces = load_search_spaces();
    REQUIRE(spaces.size() == 2);
    CHECK(spaces[0].name() == "first");
    CHECK(spaces[1].name() == "second");
}

TEST_CASE("two files of one family are refused") {
    const SpacesFolder folder;
    folder.write("a.yaml", "same");
    folder.write("b.yaml", "same");
    CHECK(error_of([] { (void)load_search_spaces(); }) ==
          folder.file("b.yaml") + ":2: the family same is already defined in " + folder.file("a.yaml"));
}

TEST_CASE("a folder without search spaces is refused") {
    const SpacesFolder folder;
    check_holds(error_of([] { (void)load_search_spaces(); }), "which holds no *.yaml file");
    setenv("TCONV_SEARCH_SPACES", folder.file("absent").c_str(), 1);
    check_holds(error_of([] { (void)load_search_spaces(); }), "which cannot be read: No such file or directory");
}
