#include "tuner/launch_definition.hpp"

#include <fmt/format.h>

#include "core/error.hpp"

namespace tconv {
namespace {

int batch_axis(const YamlReader& read, const YamlEntry& entry) {
    const std::string axis = read.word(entry);
    if (axis == "x") return 0;
    if (axis == "y") return 1;
    if (axis == "z") return 2;
    if (axis == "none") return -1;
    read.fail(entry.line, fmt::format("batch_axis must be x, y, z or none, not {}", axis));
}

bool is_mappable(ArgumentKind kind) {
    return kind == ArgumentKind::input || kind == ArgumentKind::weight || kind == ArgumentKind::output ||
           kind == ArgumentKind::workspace || kind == ArgumentKind::packed_weight;
}

void read_map(const YamlReader& read, const YamlEntry& entry, ArgumentDefinition& argument) {
    const YamlKeys keys{{"of", "extents", "strides_bytes", "box"},
                        {"element", "offset", "swizzle", "batch_dimension", "l2_promotion"}};
    const auto fields = read.record(entry.value, entry.line, "tensor_map", keys);
    MapDefinition& map = argument.map.emplace();
    const auto of = argument_kind_named(read.word(fields.at("of")));
    if (!of || !is_mappable(*of)) {
        read.fail(fields.at("of").line,
                  fmt::format("a tensor map is of input, weight, output, workspace or packed_weight, not {}",
                              read.word(fields.at("of"))));
    }
    map.of = *of;
    map.element = fields.contains("element") ? read.word(fields.at("element")) : "dtype";
    try {
        if (map.element != "dtype") (void)parse_map_element(map.element);
    } catch (const Error& error) {
        read.fail(fields.at("element").line, fmt::format("{}, or dtype", error.what()));
    }
    map.extents = read.formulas(fields.at("extents"));
    map.strides = read.formulas(fields.at("strides_bytes"));
    map.box = read.formulas(fields.at("box"));
    if (map.box.size() != map.extents.size() || map.strides.size() + 1 != map.extents.size()) {
        read.fail(entry.line,
                  fmt::format("a tensor map of {} extents needs as many of box and one less of strides_bytes, not {} "
                              "and {}",
                              map.extents.size(), map.box.size(), map.strides.size()));
    }
    argument.offset = read.formula_or(fields, "offset", 0, entry.line);
    map.swizzle = read.formula_or(fields, "swizzle", 0, entry.line);
    map.batch_dimension = read.formula_or(fields, "batch_dimension", -1, entry.line);
    map.l2_promotion = read.formula_or(fields, "l2_promotion", 128, entry.line);
}

ArgumentDefinition argument_of(const YamlReader& read, const YAML::Node& node, int line) {
    ArgumentDefinition result;
    if (node.IsMap()) {
        const auto fields =
            read.record(node, line, "an argument", {{}, {"workspace", "packed_weight", "values", "tensor_map"}});
        if (fields.size() != 1)
            read.fail(line, "an argument holds one of workspace, packed_weight, values and tensor_map");
        const YamlEntry& entry = fields.begin()->second;
        result.kind = argument_kind_named(entry.key).value();
        if (result.kind == ArgumentKind::tensor_map) {
            read_map(read, entry, result);
        } else if (result.kind != ArgumentKind::values) {
            result.offset = read.formula(entry.value, entry.line, "the offset");
        } else {
            result.values = read.formulas(entry);
            if (result.values.empty()) read.fail(entry.line, "the argument values is an empty list");
        }
        return result;
    }
    const auto kind = argument_kind_named(node.IsScalar() ? node.Scalar() : "");
    if (!kind || *kind == ArgumentKind::values || *kind == ArgumentKind::tensor_map) {
        read.fail(line, fmt::format("unknown argument {}; known are input, weight, bias, output, workspace, "
                                    "packed_weight, batch, {{workspace: offset}}, {{packed_weight: offset}}, "
                                    "{{values: [...]}} and {{tensor_map: {{...}}}}",
                                    node.IsScalar() ? node.Scalar() : "of another shape"));
    }
    result.kind = *kind;
    return result;
}

void check_weights_only(const YamlReader& read, const LaunchDefinition& launch, int line) {
    if (launch.batch_axis >= 0) read.fail(line, "a weights_only launch needs batch_axis none");
    for (const ArgumentDefinition& argument : launch.arguments) {
        const ArgumentKind kind = argument.map ? argument.map->of : argument.kind;
        if (kind != ArgumentKind::weight && kind != ArgumentKind::packed_weight && kind != ArgumentKind::values) {
            read.fail(line, "a weights_only launch may take weight, packed_weight and values alone");
        }
    }
}

}  // namespace

LaunchDefinition read_launch(const YamlReader& read, const YAML::Node& node, int line) {
    const YamlKeys keys{{"kernel", "grid", "batch_axis", "block", "arguments"},
                        {"when", "batch_tile", "weights_only", "overlaps", "cluster", "shared_bytes", "alignment"}};
    const auto fields = read.record(node, line, "launch", keys);
    LaunchDefinition result;
    result.kernel = read.word(fields.at("kernel"));
    if (!is_identifier(result.kernel, true)) {
        read.fail(fields.at("kernel").line,
                  fmt::format("kernel \"{}\" is no name of an extern \"C\" function", result.kernel));
    }
    result.grid = read.three_formulas(fields.at("grid"));
    result.block = read.three_formulas(fields.at("block"));
    result.batch_axis = batch_axis(read, fields.at("batch_axis"));
    result.when = read.formula_or(fields, "when", 1, line);
    result.batch_tile = read.formula_or(fields, "batch_tile", 1, line);
    if (result.batch_axis < 0 && fields.contains("batch_tile")) {
        read.fail(fields.at("batch_tile").line, "batch_tile needs a batch_axis, but that is none");
    }
    result.overlaps = read.formula_or(fields, "overlaps", 0, line);
    result.cluster = read.formula_or(fields, "cluster", 1, line);
    result.shared_bytes = read.formula_or(fields, "shared_bytes", 0, line);
    result.alignment = read.formula_or(fields, "alignment", k_default_alignment, line);
    for (const YAML::Node& item : read.list(fields.at("arguments"))) {
        result.arguments.push_back(
            argument_of(read, item, item.IsNull() ? fields.at("arguments").line : line_of(item)));
    }
    if (const auto field = fields.find("weights_only"); field != fields.end())
        result.weights_only = read.flag(field->second);
    if (result.weights_only) check_weights_only(read, result, fields.at("weights_only").line);
    return result;
}

}  // namespace tconv
