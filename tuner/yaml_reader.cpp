#include "tuner/yaml_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "core/error.hpp"
#include "tuner/expression.hpp"
#include "tuner/expression_tree.hpp"

namespace tconv {

int line_of(const YAML::Node& node) {
    return node.Mark().line + 1;
}

bool is_identifier(const std::string& text, bool upper_case_too) {
    const auto letter = [&](char c) { return (c >= 'a' && c <= 'z') || (upper_case_too && c >= 'A' && c <= 'Z'); };
    const auto part = [&](char c) { return letter(c) || c == '_' || (c >= '0' && c <= '9'); };
    return !text.empty() && letter(text[0]) && std::all_of(text.begin(), text.end(), part);
}

YAML::Node YamlReader::load(const std::string& text) const {
    try {
        const std::vector<YAML::Node> documents = YAML::LoadAll(text);
        if (documents.empty() || documents[0].IsNull()) fail(1, "the file is empty");
        if (documents.size() > 1)
            fail(line_of(documents[1]), "a search space is one YAML document, but a second follows");
        return documents[0];
    } catch (const YAML::Exception& error) {
        fail(error.mark.line + 1, "not valid YAML: " + error.msg);
    }
}

// yaml-cpp keeps both entries of a duplicate key and answers with the first: told apart only here.
std::vector<YamlEntry> YamlReader::entries(const YAML::Node& node, int line, const std::string& what) const {
    if (!node.IsMap()) fail(line, fmt::format("{} must be a mapping", what));
    std::vector<YamlEntry> result;
    std::set<std::string> seen;
    for (const auto& pair : node) {
        if (!pair.first.IsScalar()) fail(line, fmt::format("a key of {} is no plain word", what));
        const YamlEntry entry{pair.first.Scalar(), line_of(pair.first), pair.second};
        if (!seen.insert(entry.key).second) fail(entry.line, fmt::format("duplicate key {} in {}", entry.key, what));
        result.push_back(entry);
    }
    return result;
}

YamlRecord YamlReader::record(const YAML::Node& node, int line, const std::string& what, const YamlKeys& keys) const {
    std::vector<std::string> known = keys.required;
    known.insert(known.end(), keys.optional.begin(), keys.optional.end());
    YamlRecord result;
    for (const YamlEntry& entry : entries(node, line, what)) {
        if (std::find(known.begin(), known.end(), entry.key) == known.end()) {
            fail(entry.line,
                 fmt::format("unknown key {} in {}; known are {}", entry.key, what, fmt::join(known, ", ")));
        }
        result.emplace(entry.key, entry);
    }
    for (const std::string& key : keys.required) {
        if (!result.contains(key)) fail(line, fmt::format("{} lacks the key {}", what, key));
    }
    return result;
}

std::vector<YAML::Node> YamlReader::list(const YamlEntry& entry) const {
    if (!entry.value.IsSequence()) fail(entry.line, fmt::format("{} must be a list", entry.key));
    return {entry.value.begin(), entry.value.end()};
}

std::string YamlReader::text(const YAML::Node& node, int line, const std::string& what) const {
    if (!node.IsScalar() || node.Scalar().empty()) fail(line, fmt::format("{} must be a text that is not empty", what));
    return node.Scalar();
}

std::int64_t YamlReader::integer(const YAML::Node& node, int line, const std::string& what) const {
    const std::string digits = node.IsScalar() ? node.Scalar() : "";
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool whole = error == std::errc{} && end == digits.data() + digits.size();
    if (!whole || value > k_largest_exact_integer || value < -k_largest_exact_integer) {
        fail(line, fmt::format("{} must be an integer of at most 2^53 in size{}", what,
                               digits.empty() ? "" : ", not \"" + digits + "\""));
    }
    return value;
}

Formula YamlReader::formula(const YAML::Node& node, int line, const std::string& what) const {
    if (!node.IsScalar() || node.Scalar().empty()) {
        fail(line, fmt::format("{} must be an expression (a text in quotes)", what));
    }
    Formula result{node.Scalar(), line_of(node), {}};
    try {
        result.names = names_in_expression(result.text);
    } catch (const Error& error) {
        fail(result.line, error.what());
    }
    return result;
}

std::array<Formula, 3> YamlReader::three_formulas(const YamlEntry& entry) const {
    const std::vector<YAML::Node> items = list(entry);
    if (items.size() != 3) {
        fail(entry.line, fmt::format("{} must be a list of 3 expressions (x, y, z), not {}", entry.key, items.size()));
    }
    std::array<Formula, 3> result;
    for (std::size_t i = 0; i < 3; ++i)
        result[i] = formula(items[i], entry.line, entry.key);
    return result;
}

std::vector<Formula> YamlReader::formulas(const YamlEntry& entry) const {
    std::vector<Formula> result;
    for (const YAML::Node& node : list(entry))
        result.push_back(formula(node, entry.line, entry.key));
    return result;
}

Formula YamlReader::formula_or(const YamlRecord& fields, const std::string& key, std::int64_t otherwise,
                               int line) const {
    const auto field = fields.find(key);
    if (field == fields.end()) return Formula{std::to_string(otherwise), line, {}};
    return formula(field->second.value, field->second.line, key);
}

Rule YamlReader::rule(const YAML::Node& node, int line, const std::string& what) const {
    if (!node.IsMap()) return {formula(node, line, what), {}};
    const auto fields = record(node, line, what, {{"rule"}, {"because"}});
    Rule result{formula(fields.at("rule").value, fields.at("rule").line, "rule"), {}};
    if (const auto because = fields.find("because"); because != fields.end()) result.because = word(because->second);
    return result;
}

std::vector<Rule> YamlReader::rules(const YamlEntry& entry) const {
    std::vector<Rule> result;
    for (const YAML::Node& node : list(entry)) {
        const int line = node.IsNull() ? entry.line : line_of(node);
        result.push_back(rule(node, line, "a rule of " + entry.key));
    }
    return result;
}

bool YamlReader::flag(const YamlEntry& entry) const {
    const std::string value = word(entry);
    if (value == "true" || value == "1") return true;
    if (value == "false" || value == "0") return false;
    fail(entry.line, fmt::format("{} must be true or false, not {}", entry.key, value));
}

void fail_at(const std::string& file, int line, const std::string& sentence) {
    throw Error(ErrorKind::bad_input, fmt::format("{}:{}: {}", file, line, sentence));
}

}  // namespace tconv
