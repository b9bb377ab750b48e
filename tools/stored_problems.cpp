#include "tools/stored_problems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <system_error>

#include "cache/paths.hpp"
#include "core/error.hpp"
#include "tools/format.hpp"

namespace tconv {

std::filesystem::path database_path(const std::string& option) {
    return option.empty() ? default_database_path() : std::filesystem::path(option);
}

std::optional<std::filesystem::path> existing_path(const std::string& option) {
    std::filesystem::path path = database_path(option);
    std::error_code error;
    if (std::filesystem::status(path, error).type() != std::filesystem::file_type::not_found) return path;
    if (!option.empty())
        throw Error(ErrorKind::not_found, fmt::format("the database '{}' does not exist", path.string()));
    fmt::print("nothing tuned yet: {} is made by the first tconv tune\n", path.string());
    return std::nullopt;
}

std::optional<Database> open_existing(const std::string& option) {
    const auto path = existing_path(option);
    if (!path) return std::nullopt;
    return Database(*path, OpenMode::read_only);
}

const std::string& name_or(const std::string& name, const std::string& otherwise) {
    return name.empty() ? otherwise : name;
}

std::vector<ProblemSummary> stored_problems(const Database& database, const std::string& text) {
    const std::vector<ProblemSummary> all = database.list();
    std::vector<ProblemSummary> found;
    const auto pick = [&](const auto& fits) { std::copy_if(all.begin(), all.end(), std::back_inserter(found), fits); };
    pick([&](const auto& s) { return s.problem_name == text || key(s.problem) == text; });
    if (!found.empty()) return found;
    pick([&](const auto& s) { return s.problem_name.rfind(text, 0) == 0 || key(s.problem).rfind(text, 0) == 0; });
    std::set<std::string> problems;
    for (const ProblemSummary& s : found)
        problems.insert(name_or(s.problem_name, key(s.problem)));
    if (found.empty() || text.empty()) {
        throw Error(ErrorKind::not_found,
                    fmt::format("problem ({}) must be a name or a key of {}, or the beginning of one", shown(text),
                                database.path().string()));
    }
    if (problems.size() > 1) {
        throw Error(ErrorKind::bad_input,
                    fmt::format("problem ({}) must be the beginning of one name or key, not of {}, "
                                "among them {} and {}",
                                shown(text), problems.size(), *problems.begin(), *std::next(problems.begin())));
    }
    return found;
}

}  // namespace tconv
