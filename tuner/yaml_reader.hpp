#pragma once

#include <yaml-cpp/yaml.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tuner/space_definition.hpp"

namespace tconv {

[[nodiscard]] int line_of(const YAML::Node& node);

/// Whether a text is a letter and then letters, digits and _; the letters lower-case, or of both cases.
[[nodiscard]] bool is_identifier(const std::string& text, bool upper_case_too);

/// One key of a mapping with its value.
struct YamlEntry {
    std::string key;
    int line = 0;
    YAML::Node value;
};

/// Keys that a mapping may hold.
struct YamlKeys {
    std::vector<std::string> required;
    std::vector<std::string> optional;
};

/// The entries of a mapping by their keys.
using YamlRecord = std::map<std::string, YamlEntry>;

/// Values of a search space's file. Each function refuses what is not of its kind with bad_input, which names the file,
/// the line and `what` was to be read.
class YamlReader {
public:
    explicit YamlReader(std::string file) : file_(std::move(file)) {}

    [[noreturn]] void fail(int line, const std::string& sentence) const { fail_at(file_, line, sentence); }

    /// The one document of a text.
    [[nodiscard]] YAML::Node load(const std::string& text) const;

    [[nodiscard]] std::vector<YamlEntry> entries(const YAML::Node& node, int line, const std::string& what) const;
    /// A mapping that has all required keys and no others but optional ones.
    [[nodiscard]] YamlRecord record(const YAML::Node& node, int line, const std::string& what,
                                    const YamlKeys& keys) const;
    [[nodiscard]] std::vector<YAML::Node> list(const YamlEntry& entry) const;

    [[nodiscard]] std::string text(const YAML::Node& node, int line, const std::string& what) const;
    [[nodiscard]] std::string word(const YamlEntry& entry) const { return text(entry.value, entry.line, entry.key); }
    [[nodiscard]] std::int64_t integer(const YAML::Node& node, int line, const std::string& what) const;
    [[nodiscard]] bool flag(const YamlEntry& entry) const;

    [[nodiscard]] Formula formula(const YAML::Node& node, int line, const std::string& what) const;
    [[nodiscard]] std::array<Formula, 3> three_formulas(const YamlEntry& entry) const;
    [[nodiscard]] std::vector<Formula> formulas(const YamlEntry& entry) const;
    [[nodiscard]] Formula formula_or(const YamlRecord& fields, const std::string& key, std::int64_t otherwise,
                                     int line) const;
    [[nodiscard]] Rule rule(const YAML::Node& node, int line, const std::string& what) const;
    [[nodiscard]] std::vector<Rule> rules(const YamlEntry& entry) const;

private:
    std::string file_;
};

}  // namespace tconv
