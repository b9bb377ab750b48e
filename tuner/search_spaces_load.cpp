#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>

#include "core/error.hpp"
#include "tuner/search_space.hpp"
#include "tuner/space_definition.hpp"

namespace tconv {

// Generated from the files of search_spaces/.
const std::map<std::string, std::string_view>& embedded_search_spaces();

namespace {

using Files = std::map<std::string, std::string>;

[[noreturn]] void fail(const std::string& sentence) {
    throw Error(ErrorKind::bad_input, sentence);
}

Files files_of(const std::filesystem::path& folder) {
    Files files;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        if (entry->path().extension() != ".yaml") continue;
        std::ifstream stream(entry->path(), std::ios::binary);
        std::string text{std::istreambuf_iterator<char>(stream), {}};
        if (!stream.good() && !stream.eof()) fail(fmt::format("{} cannot be read", entry->path().string()));
        files[entry->path().string()] = std::move(text);
    }
    if (error) {
        fail(fmt::format("TCONV_SEARCH_SPACES names {}, which cannot be read: {}", folder.string(), error.message()));
    }
    if (files.empty()) fail(fmt::format("TCONV_SEARCH_SPACES names {}, which holds no *.yaml file", folder.string()));
    return files;
}

Files embedded_files() {
    Files files;
    for (const auto& [name, text] : embedded_search_spaces())
        files[name] = text;
    return files;
}

}  // namespace

std::vector<SearchSpace> load_search_spaces() {
    const char* folder = std::getenv("TCONV_SEARCH_SPACES");
    const Files files = folder != nullptr && *folder != '\0' ? files_of(folder) : embedded_files();
    std::map<std::string, std::string> file_of_family;
    std::vector<SearchSpace> spaces;
    for (const auto& [file, text] : files) {
        SearchSpace space = SearchSpace::parse(text, file);
        const auto [earlier, is_new] = file_of_family.emplace(space.name(), file);
        if (!is_new) {
            fail_at(file, read_space_definition(text, file).family_line,
                    fmt::format("the family {} is already defined in {}", space.name(), earlier->second));
        }
        spaces.push_back(std::move(space));
    }
    std::sort(spaces.begin(), spaces.end(),
              [](const SearchSpace& a, const SearchSpace& b) { return a.name() < b.name(); });
    return spaces;
}

}  // namespace tconv
