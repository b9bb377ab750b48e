#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include "core/error.hpp"
#include "tuner/expression.hpp"
#include "tuner/expression_tree.hpp"
#include "tuner/names.hpp"
#include "tuner/space_definition.hpp"

namespace tconv {
namespace {

int line_of(const YAML::Node& node) {
    return node.Mark().line + 1;
}

bool is_identifier(const std::string& text, bool upper_case_too) {
    const auto letter = [&](char c) { return (c >= 'a' && c <= 'z') || (upper_case_too && c >= 'A' && c <= 'Z'); };
    const auto part = [&](char c) { return letter(c) || c == '_' || (c >= '0' && c <= '9'); };
    return !text.empty() && letter(text[0]) && std::all_of(text.begin(), text.end(), part);
}

/// One key of a mapping with its value.
struct Entry {
    std::string key;
    int line = 0;
    YAML::Node value;
};

/// Keys that a mapping may hold.
struct Keys {
    std::vector<std::string> required;
    std::vector<std::string> optional;
};

class Reader {
public:
    Reader(const std::string& text, std::string file) : text_(text) { space_.file = std::move(file); }

    SpaceDefinition read();

private:
    [[noreturn]] void fail(int line, const std::string& sentence) const { fail_at(space_.file, line, sentence); }

    YAML::Node load() const;
    std::vector<Entry> entries(const YAML::Node& node, int line, const std::string& what) const;
    std::map<std::string, Entry> record(const YAML::Node& node, int line, const std::string& what,
                                        const Keys& keys) const;
    std::vector<YAML::Node> list(const Entry& entry) const;

    std::string text(const YAML::Node& node, int line, const std::string& what) const;
    std::string word(const Entry& entry) const { return text(entry.value, entry.line, entry.key); }
    std::int64_t integer(const YAML::Node& node, int line, const std::string& what) const;
    Formula formula(const YAML::Node& node, int line, const std::string& what) const;
    std::array<Formula, 3> three_formulas(const Entry& entry) const;
    std::vector<Formula> formulas(const Entry& entry) const;
    Formula formula_or(const std::map<std::string, Entry>& fields, const std::string& key, std::int64_t otherwise,
                       int line) const;

    Rule rule(const YAML::Node& node, int line, const std::string& what) const;
    std::vector<Rule> rules(const Entry& entry) const;
    Parameter parameter(const Entry& entry) const;
    void read_parameters(const Entry& entry);
    void read_derived(const Entry& entry);
    LaunchDefinition launch(const YAML::Node& node, int line) const;
    bool flag(const Entry& entry) const;
    int batch_axis(const Entry& entry) const;
    void check_weights_only(const LaunchDefinition& launch, int line) const;
    void read_map(const Entry& entry, ArgumentDefinition& argument) const;
    ArgumentDefinition argument(const YAML::Node& node, int line) const;
    void read_defaults(const Entry& entry);
    void claim_name(const std::string& name, int line, const std::string& what);

    const std::string& text_;
    SpaceDefinition space_;
    std::map<std::string, int> taken_;  // name of a parameter or derived quantity -> line
};

YAML::Node Reader::load() const {
    try {
        const std::vector<YAML::Node> documents = YAML::LoadAll(text_);
        if (documents.empty() || documents[0].IsNull()) fail(1, "the file is empty");
        if (documents.size() > 1)
            fail(line_of(documents[1]), "a search space is one YAML document, but a second follows");
        return documents[0];
    } catch (const YAML::Exception& error) {
        fail(error.mark.line + 1, "not valid YAML: " + error.msg);
    }
}

// yaml-cpp keeps both entries of a duplicate key and answers with the first: told apart only here.
std::vector<Entry> Reader::entries(const YAML::Node& node, int line, const std::string& what) const {
    if (!node.IsMap()) fail(line, fmt::format("{} must be a mapping", what));
    std::vector<Entry> result;
    std::set<std::string> seen;
    for (const auto& pair : node) {
        if (!pair.first.IsScalar()) fail(line, fmt::format("a key of {} is no plain word", what));
        const Entry entry{pair.first.Scalar(), line_of(pair.first), pair.second};
        if (!seen.insert(entry.key).second) fail(entry.line, fmt::format("duplicate key {} in {}", entry.key, what));
        result.push_back(entry);
    }
    return result;
}

std::map<std::string, Entry> Reader::record(const YAML::Node& node, int line, const std::string& what,
                                            const Keys& keys) const {
    std::vector<std::string> known = keys.required;
    known.insert(known.end(), keys.optional.begin(), keys.optional.end());
    std::map<std::string, Entry> result;
    for (const Entry& entry : entries(node, line, what)) {
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

std::vector<YAML::Node> Reader::list(const Entry& entry) const {
    if (!entry.value.IsSequence()) fail(entry.line, fmt::format("{} must be a list", entry.key));
    return {entry.value.begin(), entry.value.end()};
}

std::string Reader::text(const YAML::Node& node, int line, const std::string& what) const {
    if (!node.IsScalar() || node.Scalar().empty()) fail(line, fmt::format("{} must be a text that is not empty", what));
    return node.Scalar();
}

std::int64_t Reader::integer(const YAML::Node& node, int line, const std::string& what) const {
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

Formula Reader::formula(const YAML::Node& node, int line, const std::string& what) const {
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

std::array<Formula, 3> Reader::three_formulas(const Entry& entry) const {
    const std::vector<YAML::Node> items = list(entry);
    if (items.size() != 3) {
        fail(entry.line, fmt::format("{} must be a list of 3 expressions (x, y, z), not {}", entry.key, items.size()));
    }
    std::array<Formula, 3> result;
    for (std::size_t i = 0; i < 3; ++i)
        result[i] = formula(items[i], entry.line, entry.key);
    return result;
}

Rule Reader::rule(const YAML::Node& node, int line, const std::string& what) const {
    if (!node.IsMap()) return {formula(node, line, what), {}};
    const auto fields = record(node, line, what, {{"rule"}, {"because"}});
    Rule result{formula(fields.at("rule").value, fields.at("rule").line, "rule"), {}};
    if (const auto because = fields.find("because"); because != fields.end()) result.because = word(because->second);
    return result;
}

std::vector<Formula> Reader::formulas(const Entry& entry) const {
    std::vector<Formula> result;
    for (const YAML::Node& node : list(entry))
        result.push_back(formula(node, entry.line, entry.key));
    return result;
}

Formula Reader::formula_or(const std::map<std::string, Entry>& fields, const std::string& key, std::int64_t otherwise,
                           int line) const {
    const auto field = fields.find(key);
    if (field == fields.end()) return Formula{std::to_string(otherwise), line, {}};
    return formula(field->second.value, field->second.line, key);
}

std::vector<Rule> Reader::rules(const Entry& entry) const {
    std::vector<Rule> result;
    for (const YAML::Node& node : list(entry)) {
        const int line = node.IsNull() ? entry.line : line_of(node);
        result.push_back(rule(node, line, "a rule of " + entry.key));
    }
    return result;
}

void Reader::claim_name(const std::string& name, int line, const std::string& what) {
    if (!is_identifier(name, false)) {
        fail(line, fmt::format("the {} \"{}\" must be a name of lower-case letters, digits and _, a letter first", what,
                               name));
    }
    if (is_given_name(name) || is_expression_function(name)) {
        fail(line, fmt::format("the {} {} has a name that expressions use already", what, name));
    }
    const auto [earlier, is_new] = taken_.emplace(name, line);
    if (!is_new) fail(line, fmt::format("the {} {} is already defined in line {}", what, name, earlier->second));
}

Parameter Reader::parameter(const Entry& entry) const {
    const std::string what = "parameter " + entry.key;
    const auto fields = record(entry.value, entry.line, what, {{"values"}, {"description", "former"}});
    Parameter result{entry.key, {}, {}, {}};
    const auto holds = [&](std::int64_t value) {
        return std::find(result.values.begin(), result.values.end(), value) != result.values.end();
    };
    for (const YAML::Node& node : list(fields.at("values"))) {
        const std::int64_t value = integer(node, fields.at("values").line, "a value of " + what);
        if (holds(value)) fail(line_of(node), fmt::format("{} has the value {} twice", what, value));
        result.values.push_back(value);
    }
    if (result.values.empty()) fail(fields.at("values").line, fmt::format("{} has no values", what));
    if (const auto text = fields.find("description"); text != fields.end()) result.description = word(text->second);
    if (const auto former = fields.find("former"); former != fields.end()) {
        const int line = former->second.line;
        result.former = integer(former->second.value, line, "former of " + what);
        if (!holds(*result.former))
            fail(line, fmt::format("former of {} ({}) is none of its values", what, *result.former));
    }
    return result;
}

void Reader::read_parameters(const Entry& entry) {
    for (const Entry& one : entries(entry.value, entry.line, "parameters")) {
        claim_name(one.key, one.line, "parameter");
        space_.parameters.push_back(parameter(one));
    }
    if (space_.parameters.empty()) fail(entry.line, "parameters is empty, but a search space needs at least one");
}

void Reader::read_derived(const Entry& entry) {
    for (const Entry& derived : entries(entry.value, entry.line, "derived")) {
        claim_name(derived.key, derived.line, "derived quantity");
        const std::string what = "derived quantity " + derived.key;
        if (!derived.value.IsMap()) {
            space_.derived.push_back({derived.key, formula(derived.value, derived.line, what), false});
            continue;
        }
        const auto fields = record(derived.value, derived.line, what, {{"value"}, {"constant", "description"}});
        DerivedQuantity result{derived.key, formula(fields.at("value").value, fields.at("value").line, what), false};
        if (const auto text = fields.find("description"); text != fields.end()) (void)word(text->second);
        if (const auto constant = fields.find("constant"); constant != fields.end()) {
            result.constant = flag(constant->second);
        }
        space_.derived.push_back(std::move(result));
    }
}

bool Reader::flag(const Entry& entry) const {
    const std::string value = word(entry);
    if (value == "true" || value == "1") return true;
    if (value == "false" || value == "0") return false;
    fail(entry.line, fmt::format("{} must be true or false, not {}", entry.key, value));
}

int Reader::batch_axis(const Entry& entry) const {
    const std::string axis = word(entry);
    if (axis == "x") return 0;
    if (axis == "y") return 1;
    if (axis == "z") return 2;
    if (axis == "none") return -1;
    fail(entry.line, fmt::format("batch_axis must be x, y, z or none, not {}", axis));
}

void Reader::read_map(const Entry& entry, ArgumentDefinition& argument) const {
    static const std::map<std::string, ArgumentKind> kinds = {
        {"input", ArgumentKind::input},
        {"weight", ArgumentKind::weight},
        {"output", ArgumentKind::output},
        {"workspace", ArgumentKind::workspace},
        {"packed_weight", ArgumentKind::packed_weight},
    };
    const Keys keys{{"of", "extents", "strides_bytes", "box"},
                    {"element", "offset", "swizzle", "batch_dimension", "l2_promotion"}};
    const auto fields = record(entry.value, entry.line, "tensor_map", keys);
    MapDefinition& map = argument.map.emplace();
    const auto of = kinds.find(word(fields.at("of")));
    if (of == kinds.end()) {
        fail(fields.at("of").line,
             fmt::format("a tensor map is of input, weight, output, workspace or packed_weight, not {}",
                         word(fields.at("of"))));
    }
    map.of = of->second;
    map.element = fields.contains("element") ? word(fields.at("element")) : "dtype";
    try {
        if (map.element != "dtype") (void)parse_map_element(map.element);
    } catch (const Error& error) {
        fail(fields.at("element").line, fmt::format("{}, or dtype", error.what()));
    }
    map.extents = formulas(fields.at("extents"));
    map.strides = formulas(fields.at("strides_bytes"));
    map.box = formulas(fields.at("box"));
    if (map.box.size() != map.extents.size() || map.strides.size() + 1 != map.extents.size()) {
        fail(entry.line,
             fmt::format("a tensor map of {} extents needs as many of box and one less of strides_bytes, not {} "
                         "and {}",
                         map.extents.size(), map.box.size(), map.strides.size()));
    }
    argument.offset = formula_or(fields, "offset", 0, entry.line);
    map.swizzle = formula_or(fields, "swizzle", 0, entry.line);
    map.batch_dimension = formula_or(fields, "batch_dimension", -1, entry.line);
    map.l2_promotion = formula_or(fields, "l2_promotion", 128, entry.line);
}

ArgumentDefinition Reader::argument(const YAML::Node& node, int line) const {
    static const std::map<std::string, ArgumentKind> kinds = {
        {"input", ArgumentKind::input},
        {"weight", ArgumentKind::weight},
        {"bias", ArgumentKind::bias},
        {"output", ArgumentKind::output},
        {"workspace", ArgumentKind::workspace},
        {"batch", ArgumentKind::batch},
        {"packed_weight", ArgumentKind::packed_weight},
    };
    ArgumentDefinition result;
    if (node.IsMap()) {
        const auto fields =
            record(node, line, "an argument", {{}, {"workspace", "packed_weight", "values", "tensor_map"}});
        if (fields.size() != 1) fail(line, "an argument holds one of workspace, packed_weight, values and tensor_map");
        const Entry& entry = fields.begin()->second;
        if (entry.key == "tensor_map") {
            result.kind = ArgumentKind::tensor_map;
            read_map(entry, result);
        } else if (entry.key != "values") {
            result.kind = kinds.at(entry.key);
            result.offset = formula(entry.value, entry.line, "the offset");
        } else {
            result.kind = ArgumentKind::values;
            result.values = formulas(entry);
            if (result.values.empty()) fail(entry.line, "the argument values is an empty list");
        }
        return result;
    }
    const auto kind = kinds.find(node.IsScalar() ? node.Scalar() : "");
    if (kind == kinds.end()) {
        fail(line, fmt::format("unknown argument {}; known are input, weight, bias, output, workspace, "
                               "packed_weight, batch, {{workspace: offset}}, {{packed_weight: offset}}, "
                               "{{values: [...]}} and {{tensor_map: {{...}}}}",
                               node.IsScalar() ? node.Scalar() : "of another shape"));
    }
    result.kind = kind->second;
    return result;
}

LaunchDefinition Reader::launch(const YAML::Node& node, int line) const {
    const Keys keys{{"kernel", "grid", "batch_axis", "block", "arguments"},
                    {"when", "batch_tile", "weights_only", "overlaps", "cluster", "shared_bytes", "alignment"}};
    const auto fields = record(node, line, "launch", keys);
    LaunchDefinition result;
    result.kernel = word(fields.at("kernel"));
    if (!is_identifier(result.kernel, true)) {
        fail(fields.at("kernel").line,
             fmt::format("kernel \"{}\" is no name of an extern \"C\" function", result.kernel));
    }
    result.grid = three_formulas(fields.at("grid"));
    result.block = three_formulas(fields.at("block"));
    result.batch_axis = batch_axis(fields.at("batch_axis"));
    result.when = formula_or(fields, "when", 1, line);
    result.batch_tile = formula_or(fields, "batch_tile", 1, line);
    if (result.batch_axis < 0 && fields.contains("batch_tile")) {
        fail(fields.at("batch_tile").line, "batch_tile needs a batch_axis, but that is none");
    }
    result.overlaps = formula_or(fields, "overlaps", 0, line);
    result.cluster = formula_or(fields, "cluster", 1, line);
    result.shared_bytes = formula_or(fields, "shared_bytes", 0, line);
    result.alignment = formula_or(fields, "alignment", k_default_alignment, line);
    for (const YAML::Node& item : list(fields.at("arguments"))) {
        result.arguments.push_back(argument(item, item.IsNull() ? fields.at("arguments").line : line_of(item)));
    }
    if (const auto field = fields.find("weights_only"); field != fields.end())
        result.weights_only = flag(field->second);
    if (result.weights_only) check_weights_only(result, fields.at("weights_only").line);
    return result;
}

void Reader::check_weights_only(const LaunchDefinition& launch, int line) const {
    if (launch.batch_axis >= 0) fail(line, "a weights_only launch needs batch_axis none");
    for (const ArgumentDefinition& argument : launch.arguments) {
        const ArgumentKind kind = argument.map ? argument.map->of : argument.kind;
        if (kind != ArgumentKind::weight && kind != ArgumentKind::packed_weight && kind != ArgumentKind::values) {
            fail(line, "a weights_only launch may take weight, packed_weight and values alone");
        }
    }
}

void Reader::read_defaults(const Entry& entry) {
    for (const YAML::Node& node : list(entry)) {
        DefaultConfig result{{}, node.IsNull() ? entry.line : line_of(node)};
        for (const Entry& value : entries(node, result.line, "a default")) {
            result.config[value.key] = integer(value.value, value.line, value.key);
        }
        space_.defaults.push_back(std::move(result));
    }
}

SpaceDefinition Reader::read() {
    const Keys keys{{"family", "template", "description", "parameters"},
                    {"applies", "derived", "constraints", "launch", "launches", "workspace_bytes",
                     "workspace_bytes_per_batch", "workspace_batch_tile", "packed_weight_bytes", "defaults", "error",
                     "strict", "exact_on_integers", "cost", "time"}};
    const YAML::Node root = load();
    const auto fields = record(root, line_of(root), "the search space", keys);
    const auto with = [&](const std::string& key, const auto& use) {
        if (const auto field = fields.find(key); field != fields.end()) use(field->second);
    };
    space_.family = word(fields.at("family"));
    space_.family_line = fields.at("family").line;
    if (!is_identifier(space_.family, false)) {
        fail(space_.family_line, fmt::format("family \"{}\" must be a name of lower-case letters, digits and _, a "
                                             "letter first",
                                             space_.family));
    }
    space_.template_file = word(fields.at("template"));
    space_.description = word(fields.at("description"));
    with("applies", [&](const Entry& entry) { space_.applies = rules(entry); });
    read_parameters(fields.at("parameters"));
    with("derived", [&](const Entry& entry) { read_derived(entry); });
    with("constraints", [&](const Entry& entry) { space_.constraints = rules(entry); });

    if (fields.contains("launch") == fields.contains("launches")) {
        fail(line_of(root), "the search space needs either the key launch or the key launches");
    }
    with("launch", [&](const Entry& entry) { space_.launches.push_back(launch(entry.value, entry.line)); });
    with("launches", [&](const Entry& entry) {
        for (const YAML::Node& node : list(entry)) {
            space_.launches.push_back(launch(node, node.IsNull() ? entry.line : line_of(node)));
        }
        if (space_.launches.empty()) fail(entry.line, "launches is empty");
    });
    const auto bytes = [&](const std::string& key, Formula& result) {
        result = Formula{"0", line_of(root), {}};
        with(key, [&](const Entry& entry) { result = formula(entry.value, entry.line, entry.key); });
    };
    bytes("workspace_bytes", space_.workspace_bytes);
    bytes("workspace_bytes_per_batch", space_.workspace_bytes_per_batch);
    bytes("packed_weight_bytes", space_.packed_weight_bytes);
    with("defaults", [&](const Entry& entry) { read_defaults(entry); });
    space_.error = space_.compile_seconds = space_.time = Formula{"0", line_of(root), {}};
    space_.strict = {Formula{"1", line_of(root), {}}, {}};
    space_.exact_on_integers = Formula{"1", line_of(root), {}};
    space_.workspace_batch_tile = Formula{"1", line_of(root), {}};
    with("error", [&](const Entry& entry) { space_.error = formula(entry.value, entry.line, entry.key); });
    with("strict", [&](const Entry& entry) { space_.strict = rule(entry.value, entry.line, entry.key); });
    with("workspace_batch_tile",
         [&](const Entry& entry) { space_.workspace_batch_tile = formula(entry.value, entry.line, entry.key); });
    with("exact_on_integers",
         [&](const Entry& entry) { space_.exact_on_integers = formula(entry.value, entry.line, entry.key); });
    with("time", [&](const Entry& entry) { space_.time = formula(entry.value, entry.line, entry.key); });
    with("cost", [&](const Entry& entry) { space_.compile_seconds = formula(entry.value, entry.line, entry.key); });
    return std::move(space_);
}

}  // namespace

SpaceDefinition read_space_definition(const std::string& text, const std::string& file) {
    return Reader(text, file).read();
}

void fail_at(const std::string& file, int line, const std::string& sentence) {
    throw Error(ErrorKind::bad_input, fmt::format("{}:{}: {}", file, line, sentence));
}

}  // namespace tconv
