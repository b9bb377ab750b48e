#include "tools/layers.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "core/error.hpp"
#include "tools/format.hpp"
#include "tools/text_file.hpp"

namespace tconv {
namespace {

constexpr std::array<const char*, 12> k_keys{"name",   "from",   "n",       "c_in",           "c_out",    "input",
                                             "kernel", "stride", "padding", "output_padding", "dilation", "groups"};

/// Names reach file names, flags and tables: letters, digits, and _ - . + only.
bool is_name(const std::string& text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("_-.+", c) != nullptr;
    });
}

bool is_plain_scalar(const YAML::Node& node) {
    return node.IsScalar() && node.Tag() != "!";
}

/// Reads one layer file; every message carries the line of the node that it speaks of.
class LayerReader {
public:
    LayerReader(std::string file, DataType dtype, Layout layout)
        : file_(std::move(file)), dtype_(dtype), layout_(layout) {}

    std::vector<Layer> read(const std::string& text) {
        std::vector<YAML::Node> documents;
        try {
            documents = YAML::LoadAll(text);
        } catch (const YAML::Exception& error) {
            reject(error.mark, fmt::format("is no YAML: {}", error.msg));
        }
        const YAML::Node root = documents.empty() ? YAML::Node() : documents.front();
        if (documents.size() > 1) reject(documents[1], "the file must be one document");
        if (!root.IsMap() || root.size() == 0)
            reject(root, "the file must be a map from group names to lists of layers");
        for (const auto& entry : root)
            read_group(entry.first, entry.second);
        return std::move(layers_);
    }

private:
    using Fields = std::map<std::string, YAML::Node>;

    [[noreturn]] void reject(const YAML::Mark& mark, const std::string& sentence) const {
        const int line = mark.is_null() ? 1 : mark.line + 1;
        throw Error(ErrorKind::bad_input, fmt::format("{}:{}: {}", file_, line, one_line(sentence)));
    }
    [[noreturn]] void reject(const YAML::Node& node, const std::string& sentence) const {
        reject(node.Mark(), sentence);
    }

    std::string name(const YAML::Node& node, const char* what) const {
        if (!node.IsScalar() || !is_name(node.Scalar())) {
            reject(node, fmt::format("{} ({}) must be a word of letters, digits and _ - . +", what,
                                     node.IsScalar() ? shown(node.Scalar()) : "no text"));
        }
        return node.Scalar();
    }

    void read_group(const YAML::Node& key, const YAML::Node& list) {
        const std::string group = name(key, "group name");
        if (!names_.insert(group).second) reject(key, fmt::format("the name {} is used twice", group));
        if (!list.IsSequence() || list.size() == 0)
            reject(key, fmt::format("group {} must be a list of one or more layers", group));
        for (const YAML::Node& layer : list)
            read_layer(layer, group);
    }

    Fields fields_of(const YAML::Node& layer) const {
        if (!layer.IsMap()) reject(layer, "a layer must be a map such as {name: up1, n: 1, c_in: 8, ...}");
        Fields fields;
        for (const auto& entry : layer) {
            const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
            if (key != "bias" && std::find(k_keys.begin(), k_keys.end(), key) == k_keys.end()) {
                reject(entry.first,
                       fmt::format("unknown key ({}): a layer has {}, bias", shown(key), fmt::join(k_keys, ", ")));
            }
            if (!fields.emplace(key, entry.second).second) reject(entry.first, fmt::format("key {} stands twice", key));
        }
        for (const char* required : {"name", "n", "c_in", "c_out", "input", "kernel"}) {
            if (fields.count(required) == 0) reject(layer, fmt::format("the layer has no {}", required));
        }
        return fields;
    }

    std::int64_t integer(const char* key, const YAML::Node& node) const {
        std::int64_t value = 0;
        const std::string text = is_plain_scalar(node) ? node.Scalar() : "";
        const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (status == std::errc::result_out_of_range)
            reject(node, fmt::format("{} ({}) must fit in 64 bits", key, shown(text)));
        if (status != std::errc() || end != text.data() + text.size()) {
            reject(node, fmt::format("{} ({}) must be a whole number", key,
                                     node.IsScalar() ? shown(node.Scalar()) : "no single value"));
        }
        return value;
    }

    std::int64_t integer_or(const char* key, const Fields& fields, std::int64_t otherwise) const {
        const auto found = fields.find(key);
        return found == fields.end() ? otherwise : integer(key, found->second);
    }

    bool boolean_or(const char* key, const Fields& fields, bool otherwise) const {
        const auto found = fields.find(key);
        if (found == fields.end()) return otherwise;
        const std::string text = is_plain_scalar(found->second) ? found->second.Scalar() : "";
        if (text != "true" && text != "false") reject(found->second, fmt::format("{} must be true or false", key));
        return text == "true";
    }

    /// One number for all axes, or a list with one an axis.
    Extents extents(const char* key, const Fields& fields, int axes, std::int64_t neutral) const {
        Extents result{neutral, neutral, neutral};
        const auto found = fields.find(key);
        if (found == fields.end()) return result;
        const YAML::Node& node = found->second;
        if (node.IsSequence() && node.size() != static_cast<std::size_t>(axes)) {
            reject(node, fmt::format("{} has {} numbers, but input has {} axes: give one number or one an axis", key,
                                     node.size(), axes));
        }
        for (int axis = 0; axis < axes; ++axis) {
            result[3 - static_cast<std::size_t>(axes - axis)] =
                integer(key, node.IsSequence() ? node[static_cast<std::size_t>(axis)] : node);
        }
        return result;
    }

    Problem problem(const Fields& fields) const {
        const YAML::Node& input = fields.at("input");
        if (!input.IsSequence() || input.size() < 1 || input.size() > 3)
            reject(input, "input must be a list of 1, 2 or 3 sizes");
        Problem p;
        p.spatial_axes = static_cast<int>(input.size());
        p.batch = integer("n", fields.at("n"));
        p.in_channels = integer("c_in", fields.at("c_in"));
        p.out_channels = integer("c_out", fields.at("c_out"));
        p.groups = integer_or("groups", fields, 1);
        p.input = extents("input", fields, p.spatial_axes, 1);
        p.kernel = extents("kernel", fields, p.spatial_axes, 1);
        p.stride = extents("stride", fields, p.spatial_axes, 1);
        p.padding = extents("padding", fields, p.spatial_axes, 0);
        p.output_padding = extents("output_padding", fields, p.spatial_axes, 0);
        p.dilation = extents("dilation", fields, p.spatial_axes, 1);
        p.bias = boolean_or("bias", fields, false);
        p.dtype = dtype_;
        p.layout = layout_;
        return p;
    }

    void read_layer(const YAML::Node& node, const std::string& group) {
        const Fields fields = fields_of(node);
        Layer layer;
        layer.group = group;
        layer.name = name(fields.at("name"), "name");
        if (!names_.insert(layer.name).second)
            reject(fields.at("name"), fmt::format("the name {} is used twice", layer.name));
        if (const auto from = fields.find("from"); from != fields.end()) {
            if (!from->second.IsScalar()) reject(from->second, "from must be text");
            layer.from = one_line(from->second.Scalar());
        }
        layer.problem = problem(fields);
        try {
            validate(layer.problem);
        } catch (const Error& error) {
            reject(node, fmt::format("layer {}: {}", layer.name, error.what()));
        }
        layers_.push_back(std::move(layer));
    }

    std::string file_;
    DataType dtype_;
    Layout layout_;
    std::set<std::string> names_;
    std::vector<Layer> layers_;
};

}  // namespace

std::vector<Layer> parse_layers(const std::string& text, const std::string& file, DataType dtype, Layout layout) {
    return LayerReader(file, dtype, layout).read(text);
}

std::vector<Layer> read_layers(const std::filesystem::path& file, DataType dtype, Layout layout) {
    return parse_layers(read_text_file(file, "layer file"), file.string(), dtype, layout);
}

std::vector<Layer> pick_layers(const std::vector<Layer>& layers, std::string_view names) {
    std::set<std::string, std::less<>> wanted;
    for (std::string_view rest = names;;) {
        const std::size_t end = rest.find(',');
        const std::string_view name = rest.substr(0, end);
        const bool known = std::any_of(layers.begin(), layers.end(),
                                       [&](const Layer& layer) { return layer.name == name || layer.group == name; });
        if (!known) {
            throw Error(ErrorKind::bad_input,
                        fmt::format("--only ({}) must name layers or groups of the layer file, and \"{}\" is neither",
                                    shown(names), shown(name)));
        }
        wanted.emplace(name);
        if (end == std::string_view::npos) break;
        rest.remove_prefix(end + 1);
    }
    std::vector<Layer> picked;
    std::copy_if(layers.begin(), layers.end(), std::back_inserter(picked),
                 [&](const Layer& layer) { return wanted.count(layer.name) != 0 || wanted.count(layer.group) != 0; });
    return picked;
}

}  // namespace tconv
