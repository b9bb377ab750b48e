#pragma once

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/search_spaces/exact.hpp"

namespace tconv::test {

/// A family with one more constraint: a draw is held to it from the start, so that a rare value costs no thousand
/// draws.
[[nodiscard]] inline SearchSpace space_with(const std::string& family, const std::string& rule) {
    std::ifstream file(TCONV_SPACES_FOLDER "/" + family + ".yaml", std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::string head = "\nconstraints:\n";
    const std::size_t at = text.find(head);
    REQUIRE(at != std::string::npos);
    text.insert(at + head.size(),
                std::string("  - {rule: \"").append(rule).append("\", because: \"it is asked for\"}\n"));
    return SearchSpace::parse(text, family + ".yaml");
}

/// Every value of every `step`-th parameter from `first` on is exact in the emulator, on the first of the problems that
/// has a config with it.
inline void check_every_value(const std::string& family, const std::vector<Problem>& problems, std::uint64_t seed,
                              std::size_t first = 0, std::size_t step = 1) {
    Draw draw(seed);
    const std::vector<Parameter>& parameters = space_named(family).parameters();
    for (std::size_t i = first; i < parameters.size(); i += step) {
        for (const std::int64_t value : parameters[i].values) {
            const SearchSpace space = space_with(family, parameters[i].name + " == " + std::to_string(value));
            bool covered = false;
            for (std::size_t number = 0; number < problems.size() && !covered; ++number) {
                const Problem& p = problems[number];
                const auto config = draw_config(space, draw, p, [](const Config&) { return true; });
                if (!config) continue;
                check_exact(space, draw, p, *config);
                covered = true;
            }
            INFO(parameters[i].name << " = " << value);
            CHECK(covered);
        }
    }
}

}  // namespace tconv::test
