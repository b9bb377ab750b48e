#include "tests/faults/planted_session.hpp"

#include <algorithm>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "kernel_sources/sources.hpp"
#include "tests/cache/scratch.hpp"
#include "tests/catch.hpp"

namespace tconv::tests {
namespace {

namespace fs = std::filesystem;

const fs::path k_planted = TCONV_PLANTED;

#ifdef TCONV_SANITIZE
constexpr bool k_sanitized = true;
constexpr const char* k_compile_limit = "30s";
constexpr const char* k_memory_limit = "16384";  // of which the sanitizer's own are most
#else
constexpr bool k_sanitized = false;
constexpr const char* k_compile_limit = "6s";
constexpr const char* k_memory_limit = "512";
#endif

/// The system's compiler, which two marked sources bring down.
constexpr const char* k_compiler = R"sh(#!/bin/sh
for word; do
    case $word in */kernel.cpp) source=$word ;; esac
done
if [ -n "$source" ]; then
    if grep -q 'int fault = 25;' "$source"; then kill -ABRT $$; fi
    if grep -q 'int fault = 26;' "$source"; then kill -KILL $PPID; exit 1; fi
fi
exec c++ "$@"
)sh";

std::vector<std::string> parts_of(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);)
        parts.push_back(part);
    return parts;
}

}  // namespace

std::vector<PlantedFault> planted_faults() {
    std::vector<PlantedFault> faults;
    for (const std::string& line : parts_of(read_file(k_planted / "expected.txt"), '\n')) {
        if (line.empty() || line.front() == '#') continue;
        std::istringstream stream(line);
        PlantedFault fault;
        std::string outcomes;
        stream >> fault.number >> fault.name >> outcomes;
        fault.outcomes = parts_of(outcomes, '|');
        if (outcomes == "-" || (k_sanitized && fault.name == "leaks_memory")) continue;
        // The sanitizers end a process at the first wrong access.
        if (k_sanitized && fault.name != "prints") fault.outcomes.emplace_back("crashed");
        faults.push_back(std::move(fault));
    }
    return faults;
}

PlantedFault planted_fault(const std::string& name) {
    for (PlantedFault& fault : planted_faults()) {
        if (fault.name == name) return std::move(fault);
    }
    throw std::runtime_error("no fault is called " + name);
}

PlantedSessions::PlantedSessions() {
    fs::create_directory(folder_ / "sources");
    fs::create_directory(folder_ / "spaces");
    fs::create_directory(temporary_files());
    for (const std::string& file : kernel_source_names())
        write_file(folder_ / "sources" / file, kernel_source(file));
    fs::copy_file(k_planted / "planted.cu", folder_ / "sources" / "planted.cu");
    write_file(folder_ / "compiler", k_compiler);
    fs::permissions(folder_ / "compiler", fs::perms::owner_all);
}

void PlantedSessions::offer(const std::vector<int>& faults, const std::string& rule) const {
    std::string values;
    for (const int fault : faults)
        values += (values.empty() ? "" : ", ") + std::to_string(fault);
    std::string text = read_file(k_planted / "planted.yaml");
    text = std::regex_replace(text, std::regex("fault: \\{values: \\[[^\\]]*\\]"), "fault: {values: [" + values + "]");
    const std::string old_rule = "fault == 0 || repeat == 1";
    text.replace(text.find(old_rule), old_rule.size(), rule);
    write_file(folder_ / "spaces" / "planted.yaml", text);
}

PlantedSessions::Run PlantedSessions::tune(const std::map<std::string, std::string>& limits,
                                           const std::function<void(pid_t)>& meanwhile) const {
    std::map<std::string, std::string> options{{"--device", "emulator"},
                                               {"--input", "2x3x7"},
                                               {"--weight", "3x5x4"},
                                               {"--stride", "2"},
                                               {"--padding", "1"},
                                               {"--trials", "500"},
                                               {"--time-limit", "10m"},
                                               {"--run-limit", "2s"},
                                               {"--validation-limit", "20s"},
                                               {"--compile-limit", k_compile_limit},
                                               {"--memory-limit", k_memory_limit},
                                               {"--database", database().string()}};
    for (const auto& [flag, value] : limits)
        options[flag] = value;
    std::vector<std::string> words{"tune", "--json", "--bias"};
    for (const auto& [flag, value] : options)
        words.insert(words.end(), {flag, value});
    Run run;
    run.process = run_tconv(
        words, folder_.path(),
        {"TCONV_CACHE=" TCONV_TEST_CACHE, "TCONV_KERNEL_SOURCES=" + (folder_ / "sources").string(),
         "TCONV_SEARCH_SPACES=" + (folder_ / "spaces").string(), "TCONV_CXX=" + (folder_ / "compiler").string(),
         "TCONV_PLANTED_MARK=" + mark().string(), "TMPDIR=" + temporary_files().string()},
        meanwhile);
    const auto document = nlohmann::json::parse(run.process.out, nullptr, false);
    if (document.is_object() && document["results"].size() == 1) run.result = document["results"][0];
    return run;
}

std::map<int, PlantedOutcome> PlantedSessions::outcomes() const {
    std::map<int, PlantedOutcome> outcomes;
    for (const std::string& row : test::query_sql(
             database(),
             "SELECT CASE json_extract(config, '$.fault') WHEN 0 THEN -json_extract(config, '$.repeat') "
             "ELSE json_extract(config, '$.fault') END || ' ' || outcome || ' ' || coalesce(reason, '') FROM trial")) {
        std::istringstream stream(row);
        int number = 0;
        PlantedOutcome outcome;
        stream >> number >> outcome.kind;
        std::getline(stream >> std::ws, outcome.reason, '\0');
        outcomes[number] = outcome;
    }
    return outcomes;
}

void check_ended(const PlantedSessions::Run& run, int exit_code) {
    INFO(run.process.err);
    CHECK(run.process.exit_code == exit_code);
    REQUIRE(run.result.is_object());
    INFO(run.result["warnings"].dump());
    CHECK(run.result["warnings"].empty());
    // What a kernel prints is no part of what the command says.
    CHECK(run.process.err.find("a kernel speaks") == std::string::npos);
}

}  // namespace tconv::tests
