#pragma once

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/search_spaces/exact.hpp"

namespace tconv::test {

/// Moves the lines of a parameter to the front of the file's others: what is drawn first prunes the rest.
inline void put_first(std::string& text, const std::string& parameter) {
    const std::string head = "\nparameters:\n";
    const std::size_t front = text.find(head) + head.size();
    const std::size_t begin = text.find("\n  " + parameter + ":\n", front - 1) + 1;
    std::size_t end = begin;
    do
        end = text.find('\n', end) + 1;
    while (text.compare(end, 4, "    ") == 0);
    const std::string block = text.substr(begin, end - begin);
    text.erase(begin, block.size());
    text.insert(front, block);
}

/// A family whose draws have one value of a parameter: held to it from the start, so that a rare one costs no thousand
/// draws.
[[nodiscard]] inline SearchSpace space_with(const std::string& family, const std::string& parameter,
                                            std::int64_t value) {
    std::ifstream file(TCONV_SPACES_FOLDER "/" + family + ".yaml", std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::string head = "\nconstraints:\n";
    const std::size_t at = text.find(head);
    REQUIRE(at != std::string::npos);
    std::string rule("  - {rule: \"");
    rule.append(parameter).append(" == ").append(std::to_string(value)).append("\", because: \"it is asked for\"}\n");
    text.insert(at + head.size(), rule);
    put_first(text, parameter);
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
            const SearchSpace space = space_with(family, parameters[i].name, value);
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
