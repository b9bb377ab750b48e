#include "core/config.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.hpp"

namespace tconv {

std::string to_json(const Config& config) {
    return nlohmann::json(config).dump();
}

Config config_from_json(const std::string& text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object()) throw Error(ErrorKind::bad_input, fmt::format("config ({}) must be a JSON object", text));
    Config config;
    for (const auto& [name, value] : json.items()) {
        const bool too_large = value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX;
        if (!value.is_number_integer() || too_large) {
            throw Error(ErrorKind::bad_input,
                        fmt::format("config parameter {} ({}) must be a 64-bit integer", name, value.dump()));
        }
        config[name] = value.get<std::int64_t>();
    }
    return config;
}

std::string to_string(const Config& config) {
    std::string text;
    for (const auto& [name, value] : config) {
        if (!text.empty()) text += ' ';
        text += fmt::format("{}={}", name, value);
    }
    return text;
}

}  // namespace tconv
