#include "kernel_sources/sources.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "core/error.hpp"
#include "core/hash.hpp"

namespace tconv {

const std::map<std::string, std::string_view>& embedded_kernels();

namespace {

/// The name between the quotes of an `#include "..."` line, or nothing.
std::string included_name(const std::string& line) {
    const std::size_t hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line.compare(hash, 8, "#include") != 0) return {};
    const std::size_t first = line.find('"', hash);
    const std::size_t last = first == std::string::npos ? first : line.find('"', first + 1);
    return last == std::string::npos ? std::string() : line.substr(first + 1, last - first - 1);
}

void append_expanded(const std::string& name, std::set<std::string>& seen, std::string& result) {
    if (!seen.insert(name).second) return;
    std::istringstream text(kernel_source(name));
    result += fmt::format("#line 1 \"{}\"\n", name);
    std::string line;
    for (int number = 1; std::getline(text, line); ++number) {
        const std::string included = included_name(line);
        if (!included.empty()) {
            append_expanded(included, seen, result);
            result += fmt::format("#line {} \"{}\"\n", number + 1, name);
        } else if (line != "#pragma once") {
            result += line;
            result += '\n';
        } else {
            result += '\n';
        }
    }
}

}  // namespace

std::string kernel_source(std::string_view name) {
    const std::string key(name);
    if (const char* folder = std::getenv("TCONV_KERNEL_SOURCES"); folder != nullptr && *folder != '\0') {
        const auto path = std::filesystem::path(folder) / key;
        std::ifstream file(path, std::ios::binary);
        if (!file) throw Error(ErrorKind::not_found, fmt::format("kernel source {} cannot be read", path.string()));
        return {std::istreambuf_iterator<char>(file), {}};
    }
    const auto found = embedded_kernels().find(key);
    if (found == embedded_kernels().end()) {
        throw Error(ErrorKind::not_found, fmt::format("kernel source {} is none of this build's", key));
    }
    return std::string(found->second);
}

std::vector<std::string> kernel_source_names() {
    std::vector<std::string> names;
    for (const auto& [name, text] : embedded_kernels())
        names.push_back(name);
    return names;
}

std::string expand_includes(std::string_view name) {
    std::set<std::string> seen;
    std::string result;
    append_expanded(std::string(name), seen, result);
    return result;
}

std::string template_hash(std::string_view name) {
    return content_hash(expand_includes(name)).substr(0, 16);
}

std::string specialise(const LaunchPlan& plan, const Problem& problem, const Config& config) {
    Config values = config;
    values.insert(plan.constants.begin(), plan.constants.end());
    return specialise(plan.source_file, problem, values);
}

std::string specialise(std::string_view template_file, const Problem& problem, const Config& config) {
    return prelude(problem, config) + expand_includes(template_file);
}

std::vector<std::string> compiler_options(const Config& config) {
    const auto source_order = config.find("source_order");
    if (source_order == config.end() || source_order->second == 0) return {};
    return {"--ptxas-options=-O1"};
}

}  // namespace tconv
