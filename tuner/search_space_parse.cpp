#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/error.hpp"
#include "tuner/expression.hpp"
#include "tuner/expression_tree.hpp"
#include "tuner/launch_definition.hpp"
#include "tuner/names.hpp"
#include "tuner/space_definition.hpp"
#include "tuner/yaml_reader.hpp"

namespace tconv {
namespace {

class Reader {
public:
    Reader(const std::string& text, const std::string& file) : text_(text), read_(file) { space_.file = file; }

    SpaceDefinition space();

private:
    Parameter parameter(const YamlEntry& entry) const;
    void read_parameters(const YamlEntry& entry);
    void read_derived(const YamlEntry& entry);
    void read_defaults(const YamlEntry& entry);
    void claim_name(const std::string& name, int line, const std::string& what);

    const std::string& text_;
    YamlReader read_;
    SpaceDefinition space_;
    std::map<std::string, int> taken_;  // name of a parameter or derived quantity -> line
};

void Reader::claim_name(const std::string& name, int line, const std::string& what) {
    if (!is_identifier(name, false)) {
        read_.fail(line, fmt::format("the {} \"{}\" must be a name of lower-case letters, digits and _, a letter first",
                                     what, name));
    }
    if (is_given_name(name) || is_expression_function(name)) {
        read_.fail(line, fmt::format("the {} {} has a name that expressions use already", what, name));
    }
    const auto [earlier, is_new] = taken_.emplace(name, line);
    if (!is_new) read_.fail(line, fmt::format("the {} {} is already defined in line {}", what, name, earlier->second));
}

Parameter Reader::parameter(const YamlEntry& entry) const {
    const std::string what = "parameter " + entry.key;
    const auto fields = read_.record(entry.value, entry.line, what, {{"values"}, {"description", "former"}});
    Parameter result{entry.key, {}, {}, {}};
    const auto holds = [&](std::int64_t value) {
        return std::find(result.values.begin(), result.values.end(), value) != result.values.end();
    };
    for (const YAML::Node& node : read_.list(fields.at("values"))) {
        const std::int64_t value = read_.integer(node, fields.at("values").line, "a value of " + what);
        if (holds(value)) read_.fail(line_of(node), fmt::format("{} has the value {} twice", what, value));
        result.values.push_back(value);
    }
    if (result.values.empty()) read_.fail(fields.at("values").line, fmt::format("{} has no values", what));
    if (const auto text = fields.find("description"); text != fields.end())
        result.description = read_.word(text->second);
    if (const auto former = fields.find("former"); former != fields.end()) {
        const int line = former->second.line;
        result.former = read_.integer(former->second.value, line, "former of " + what);
        if (!holds(*result.former))
            read_.fail(line, fmt::format("former of {} ({}) is none of its values", what, *result.former));
    }
    return result;
}

void Reader::read_parameters(const YamlEntry& entry) {
    for (const YamlEntry& one : read_.entries(entry.value, entry.line, "parameters")) {
        claim_name(one.key, one.line, "parameter");
        space_.parameters.push_back(parameter(one));
    }
    if (space_.parameters.empty()) read_.fail(entry.line, "parameters is empty, but a search space needs at least one");
}

void Reader::read_derived(const YamlEntry& entry) {
    for (const YamlEntry& derived : read_.entries(entry.value, entry.line, "derived")) {
        claim_name(derived.key, derived.line, "derived quantity");
        const std::string what = "derived quantity " + derived.key;
        if (!derived.value.IsMap()) {
            space_.derived.push_back({derived.key, read_.formula(derived.value, derived.line, what), false});
            continue;
        }
        const auto fields = read_.record(derived.value, derived.line, what, {{"value"}, {"constant", "description"}});
        DerivedQuantity result{derived.key, read_.formula(fields.at("value").value, fields.at("value").line, what),
                               false};
        if (const auto text = fields.find("description"); text != fields.end()) (void)read_.word(text->second);
        if (const auto constant = fields.find("constant"); constant != fields.end()) {
            result.constant = read_.flag(constant->second);
        }
        space_.derived.push_back(std::move(result));
    }
}

void Reader::read_defaults(const YamlEntry& entry) {
    for (const YAML::Node& node : read_.list(entry)) {
        DefaultConfig result{{}, node.IsNull() ? entry.line : line_of(node)};
        for (const YamlEntry& value : read_.entries(node, result.line, "a default")) {
            result.config[value.key] = read_.integer(value.value, value.line, value.key);
        }
        space_.defaults.push_back(std::move(result));
    }
}

SpaceDefinition Reader::space() {
    const YamlKeys keys{{"family", "template", "description", "parameters"},
                        {"applies", "derived", "constraints", "launch", "launches", "workspace_bytes",
                         "workspace_bytes_per_batch", "workspace_batch_tile", "packed_weight_bytes", "defaults",
                         "error", "strict", "exact_on_integers", "cost", "time"}};
    const YAML::Node root = read_.load(text_);
    const auto fields = read_.record(root, line_of(root), "the search space", keys);
    const auto with = [&](const std::string& key, const auto& use) {
        if (const auto field = fields.find(key); field != fields.end()) use(field->second);
    };
    space_.family = read_.word(fields.at("family"));
    space_.family_line = fields.at("family").line;
    if (!is_identifier(space_.family, false)) {
        read_.fail(space_.family_line,
                   fmt::format("family \"{}\" must be a name of lower-case letters, digits and _, a "
                               "letter first",
                               space_.family));
    }
    space_.template_file = read_.word(fields.at("template"));
    space_.description = read_.word(fields.at("description"));
    with("applies", [&](const YamlEntry& entry) { space_.applies = read_.rules(entry); });
    read_parameters(fields.at("parameters"));
    with("derived", [&](const YamlEntry& entry) { read_derived(entry); });
    with("constraints", [&](const YamlEntry& entry) { space_.constraints = read_.rules(entry); });

    if (fields.contains("launch") == fields.contains("launches")) {
        read_.fail(line_of(root), "the search space needs either the key launch or the key launches");
    }
    with("launch",
         [&](const YamlEntry& entry) { space_.launches.push_back(read_launch(read_, entry.value, entry.line)); });
    with("launches", [&](const YamlEntry& entry) {
        for (const YAML::Node& node : read_.list(entry)) {
            space_.launches.push_back(read_launch(read_, node, node.IsNull() ? entry.line : line_of(node)));
        }
        if (space_.launches.empty()) read_.fail(entry.line, "launches is empty");
    });
    const auto bytes = [&](const std::string& key, Formula& result) {
        result = Formula{"0", line_of(root), {}};
        with(key, [&](const YamlEntry& entry) { result = read_.formula(entry.value, entry.line, entry.key); });
    };
    bytes("workspace_bytes", space_.workspace_bytes);
    bytes("workspace_bytes_per_batch", space_.workspace_bytes_per_batch);
    bytes("packed_weight_bytes", space_.packed_weight_bytes);
    with("defaults", [&](const YamlEntry& entry) { read_defaults(entry); });
    space_.error = space_.compile_seconds = space_.time = Formula{"0", line_of(root), {}};
    space_.strict = {Formula{"1", line_of(root), {}}, {}};
    space_.exact_on_integers = Formula{"1", line_of(root), {}};
    space_.workspace_batch_tile = Formula{"1", line_of(root), {}};
    with("error", [&](const YamlEntry& entry) { space_.error = read_.formula(entry.value, entry.line, entry.key); });
    with("strict", [&](const YamlEntry& entry) { space_.strict = read_.rule(entry.value, entry.line, entry.key); });
    with("workspace_batch_tile", [&](const YamlEntry& entry) {
        space_.workspace_batch_tile = read_.formula(entry.value, entry.line, entry.key);
    });
    with("exact_on_integers",
         [&](const YamlEntry& entry) { space_.exact_on_integers = read_.formula(entry.value, entry.line, entry.key); });
    with("time", [&](const YamlEntry& entry) { space_.time = read_.formula(entry.value, entry.line, entry.key); });
    with("cost",
         [&](const YamlEntry& entry) { space_.compile_seconds = read_.formula(entry.value, entry.line, entry.key); });
    return std::move(space_);
}

}  // namespace

SpaceDefinition read_space_definition(const std::string& text, const std::string& file) {
    return Reader(text, file).space();
}

}  // namespace tconv
