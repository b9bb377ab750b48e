#include "tools/targets.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <string_view>

#include "core/error.hpp"
#include "tools/format.hpp"
#include "tools/text_file.hpp"

namespace tconv {

// Generated from the files of targets/.
const std::map<std::string, std::string_view>& embedded_targets();

namespace {

constexpr std::int64_t k_most_bytes = std::int64_t{1} << 50;

/// A whole number of a description.
struct IntegerField {
    const char* name;
    bool required;
    std::int64_t most;
    std::int64_t (*get)(const DeviceInfo&);
    void (*set)(DeviceInfo&, std::int64_t);
};

constexpr std::array<IntegerField, 8> k_integers{{
    {"multiprocessors", true, 10'000, [](const DeviceInfo& d) { return std::int64_t{d.multiprocessors}; },
     [](DeviceInfo& d, std::int64_t value) { d.multiprocessors = static_cast<int>(value); }},
    {"warp_size", false, 1024, [](const DeviceInfo& d) { return std::int64_t{d.warp_size}; },
     [](DeviceInfo& d, std::int64_t value) { d.warp_size = static_cast<int>(value); }},
    {"max_threads_per_block", false, 65536, [](const DeviceInfo& d) { return std::int64_t{d.max_threads_per_block}; },
     [](DeviceInfo& d, std::int64_t value) { d.max_threads_per_block = static_cast<int>(value); }},
    {"registers_per_multiprocessor", true, k_most_bytes,
     [](const DeviceInfo& d) { return d.registers_per_multiprocessor; },
     [](DeviceInfo& d, std::int64_t value) { d.registers_per_multiprocessor = value; }},
    {"shared_memory_per_multiprocessor", true, k_most_bytes,
     [](const DeviceInfo& d) { return d.shared_memory_per_multiprocessor; },
     [](DeviceInfo& d, std::int64_t value) { d.shared_memory_per_multiprocessor = value; }},
    {"shared_memory_per_block", true, k_most_bytes, [](const DeviceInfo& d) { return d.shared_memory_per_block; },
     [](DeviceInfo& d, std::int64_t value) { d.shared_memory_per_block = value; }},
    {"l2_bytes", true, k_most_bytes, [](const DeviceInfo& d) { return d.l2_bytes; },
     [](DeviceInfo& d, std::int64_t value) { d.l2_bytes = value; }},
    {"memory_bytes", true, k_most_bytes, [](const DeviceInfo& d) { return d.memory_bytes; },
     [](DeviceInfo& d, std::int64_t value) { d.memory_bytes = value; }},
}};

struct RateField {
    const char* name;
    double Ceilings::*value;
};

constexpr std::array<RateField, 4> k_rates{{
    {"copy_bytes_per_second", &Ceilings::copy_bytes_per_second},
    {"fp32_flops_per_second", &Ceilings::fma_flops_per_second},
    {"tf32_flops_per_second", &Ceilings::tf32_flops_per_second},
    {"bf16_flops_per_second", &Ceilings::bf16_flops_per_second},
}};

/// Reads one description; every message carries the line of the node that it speaks of.
class TargetReader {
public:
    explicit TargetReader(std::string file) : file_(std::move(file)) {}

    Target read(const std::string& text) {
        std::vector<YAML::Node> documents;
        try {
            documents = YAML::LoadAll(text);
        } catch (const YAML::Exception& error) {
            reject(error.mark, fmt::format("is no YAML: {}", error.msg));
        }
        if (documents.size() > 1) reject(documents[1].Mark(), "the file must be one document");
        const YAML::Node root = documents.empty() ? YAML::Node() : documents.front();
        if (!root.IsMap()) reject(root.Mark(), "the file must be a map that describes one device");
        const std::map<std::string, YAML::Node> fields = fields_of(root);
        Target target;
        target.info.kind = DeviceKind::cuda;
        for (const auto& [name, node] : fields)
            read_field(target, name, node);
        if (target.info.shared_memory_per_block > target.info.shared_memory_per_multiprocessor) {
            reject(fields.at("shared_memory_per_block").Mark(),
                   fmt::format("shared_memory_per_block ({}) must not exceed shared_memory_per_multiprocessor ({})",
                               target.info.shared_memory_per_block, target.info.shared_memory_per_multiprocessor));
        }
        return target;
    }

private:
    [[noreturn]] void reject(const YAML::Mark& mark, const std::string& sentence) const {
        const int line = mark.is_null() ? 1 : mark.line + 1;
        throw Error(ErrorKind::bad_input, fmt::format("{}:{}: {}", file_, line, one_line(sentence)));
    }

    std::map<std::string, YAML::Node> fields_of(const YAML::Node& map) const {
        std::map<std::string, YAML::Node> fields;
        for (const auto& entry : map) {
            const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
            if (!fields.emplace(name, entry.second).second)
                reject(entry.first.Mark(), fmt::format("key {} stands twice", shown(name)));
            if (!is_known(name)) {
                reject(entry.first.Mark(), fmt::format("unknown key ({}): a description has name, compute_capability, "
                                                       "{}, rates",
                                                       shown(name), fmt::join(integer_names(), ", ")));
            }
        }
        const auto require = [&](const char* name) {
            if (fields.count(name) == 0) reject(map.Mark(), fmt::format("the description has no {}", name));
        };
        require("name");
        require("compute_capability");
        for (const IntegerField& field : k_integers)
            if (field.required) require(field.name);
        return fields;
    }

    static std::vector<std::string> integer_names() {
        std::vector<std::string> names;
        for (const IntegerField& field : k_integers)
            names.emplace_back(field.name);
        return names;
    }

    static bool is_known(const std::string& name) {
        const auto names = integer_names();
        return name == "name" || name == "compute_capability" || name == "rates" ||
               std::find(names.begin(), names.end(), name) != names.end();
    }

    void read_field(Target& target, const std::string& name, const YAML::Node& node) const {
        if (name == "name") {
            target.info.name = device_name(node);
        } else if (name == "compute_capability") {
            read_capability(target.info, node);
        } else if (name == "rates") {
            read_rates(target.rates, node);
        } else {
            const auto field = std::find_if(k_integers.begin(), k_integers.end(),
                                            [&](const IntegerField& candidate) { return name == candidate.name; });
            field->set(target.info, integer(*field, node));
        }
    }

    std::string text_of(const char* name, const YAML::Node& node) const {
        if (!node.IsScalar()) reject(node.Mark(), fmt::format("{} must be a single value", name));
        return node.Scalar();
    }

    std::string device_name(const YAML::Node& node) const {
        std::string name = text_of("name", node);
        const bool plain =
            std::all_of(name.begin(), name.end(), [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
        if (name.empty() || !plain) reject(node.Mark(), "name must be the product's name, as the driver gives it");
        return name;
    }

    void read_capability(DeviceInfo& info, const YAML::Node& node) const {
        const std::string text = text_of("compute_capability", node);
        const std::size_t point = text.find('.');
        const auto digits = [](std::string_view part) {
            return !part.empty() && part.size() <= 2 &&
                   std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
        };
        if (point == std::string::npos || !digits(std::string_view(text).substr(0, point)) ||
            !digits(std::string_view(text).substr(point + 1))) {
            reject(node.Mark(), fmt::format("compute_capability ({}) must be two numbers such as 9.0", shown(text)));
        }
        info.compute_major = std::stoi(text.substr(0, point));
        info.compute_minor = std::stoi(text.substr(point + 1));
    }

    std::int64_t integer(const IntegerField& field, const YAML::Node& node) const {
        const std::string text = text_of(field.name, node);
        std::int64_t value = 0;
        const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (status != std::errc() || end != text.data() + text.size() || value < 1 || value > field.most) {
            reject(node.Mark(),
                   fmt::format("{} ({}) must be a whole number from 1 to {}", field.name, shown(text), field.most));
        }
        return value;
    }

    void read_rates(Ceilings& rates, const YAML::Node& map) const {
        if (!map.IsMap()) reject(map.Mark(), "rates must be a map such as {copy_bytes_per_second: 3.9e12}");
        for (const auto& entry : map) {
            const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
            const auto field = std::find_if(k_rates.begin(), k_rates.end(),
                                            [&](const RateField& candidate) { return name == candidate.name; });
            if (field == k_rates.end()) {
                std::string known;
                for (const RateField& rate : k_rates)
                    known += (known.empty() ? "" : ", ") + std::string(rate.name);
                reject(entry.first.Mark(), fmt::format("unknown rate ({}): it must be one of {}", shown(name), known));
            }
            const std::string text = text_of(field->name, entry.second);
            double value = 0;
            const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
            if (status != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value <= 0)
                reject(entry.second.Mark(), fmt::format("{} ({}) must be a number above 0", field->name, shown(text)));
            rates.*field->value = value;
        }
    }

    std::string file_;
};

/// Names and texts of the description files.
std::map<std::string, std::string> target_files() {
    std::map<std::string, std::string> files;
    const char* const folder = std::getenv("TCONV_TARGETS");
    if (folder == nullptr || *folder == '\0') {
        for (const auto& [name, text] : embedded_targets())
            files[name] = text;
        return files;
    }
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        if (entry->path().extension() == ".yaml")
            files[entry->path().string()] = read_text_file(entry->path(), "device description");
    }
    if (error) {
        throw Error(ErrorKind::bad_input,
                    fmt::format("TCONV_TARGETS names {}, which cannot be read: {}", folder, error.message()));
    }
    if (files.empty())
        throw Error(ErrorKind::bad_input, fmt::format("TCONV_TARGETS names {}, which holds no *.yaml file", folder));
    return files;
}

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

}  // namespace

Target parse_target(const std::string& text, const std::string& file) {
    return TargetReader(file).read(text);
}

std::vector<Target> load_targets() {
    std::vector<Target> targets;
    for (const auto& [file, text] : target_files()) {
        Target target = parse_target(text, file);
        const bool known = std::any_of(targets.begin(), targets.end(), [&](const Target& other) {
            return lower(other.info.name) == lower(target.info.name);
        });
        if (known)
            throw Error(ErrorKind::bad_input, fmt::format("{}:1: {} is described twice", file, target.info.name));
        targets.push_back(std::move(target));
    }
    std::sort(targets.begin(), targets.end(),
              [](const Target& a, const Target& b) { return a.info.name < b.info.name; });
    return targets;
}

Target find_target(const std::string& text) {
    if (text.find('/') != std::string::npos || text.ends_with(".yaml"))
        return parse_target(read_text_file(text, "device description"), text);
    const std::vector<Target> targets = load_targets();
    std::vector<const Target*> found;
    std::vector<std::string> names;
    for (const Target& target : targets) {
        const std::string name = lower(target.info.name);
        if (name == lower(text)) return target;
        if (!text.empty() && name.find(lower(text)) != std::string::npos) found.push_back(&target);
        names.push_back(target.info.name);
    }
    if (found.size() == 1) return *found.front();
    if (found.empty()) {
        throw Error(ErrorKind::bad_input,
                    fmt::format("--target ({}) must be the path of a description or name one of the devices {}",
                                shown(text), fmt::join(names, ", ")));
    }
    throw Error(ErrorKind::bad_input, fmt::format("--target ({}) must be part of one device's name, not of {} and {}",
                                                  shown(text), found[0]->info.name, found[1]->info.name));
}

std::string describe_target(const Target& target) {
    const DeviceInfo& info = target.info;
    std::string name;
    for (const char c : info.name)
        name += (c == '"' || c == '\\') ? std::string{'\\', c} : std::string(1, c);
    std::string text =
        fmt::format("name: \"{}\"\ncompute_capability: {}.{}\n", name, info.compute_major, info.compute_minor);
    for (const IntegerField& field : k_integers)
        text += fmt::format("{}: {}\n", field.name, field.get(info));
    std::string rates;
    for (const RateField& field : k_rates) {
        if (target.rates.*field.value > 0) rates += fmt::format("  {}: {}\n", field.name, target.rates.*field.value);
    }
    return rates.empty() ? text : text + "rates:  # measured by tconv\n" + rates;
}

}  // namespace tconv
