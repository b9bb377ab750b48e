#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string_view>

#include "device/emulator/emulator.hpp"
#include "device/emulator/program.hpp"

namespace tconv {
namespace {

using namespace std::chrono_literals;

std::string environment(const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr ? value : "";
}

/// The program's path, looked for along PATH where `name` has no slash; empty when there is none.
std::string find_program(const std::string& name) {
    if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : std::string();
    const std::string path = environment("PATH");
    for (std::size_t begin = 0; begin <= path.size();) {
        const std::size_t end = std::min(path.find(':', begin), path.size());
        const std::string file = path.substr(begin, end - begin) + "/" + name;
        std::error_code ignored;
        if (end > begin && std::filesystem::is_regular_file(file, ignored) && access(file.c_str(), X_OK) == 0)
            return file;
        begin = end + 1;
    }
    return {};
}

/// The status of one candidate; `reason` is set unless it is usable.
HostCompilerStatus examine(const std::string& name) {
    HostCompilerStatus status;
    status.path = find_program(name);
    if (status.path.empty()) {
        status.reason = fmt::format("'{}' is not a program that can be run", name);
        return status;
    }
    try {
        const emulator::ProgramResult result = emulator::run_program({status.path, "--version"}, 10s);
        status.version = result.output.substr(0, result.output.find('\n'));
        status.available = result.exit_code == 0 && !status.version.empty();
        if (!status.available) status.reason = fmt::format("'{} --version' failed", status.path);
    } catch (const std::exception& error) {
        status.reason = error.what();
    }
    return status;
}

HostCompilerStatus find_compiler() {
    const std::string own = environment("TCONV_CXX");
    if (!own.empty()) {
        HostCompilerStatus status = examine(own);
        if (!status.available) status.reason = "TCONV_CXX names no C++ compiler: " + status.reason;
        return status;
    }
    const std::array<std::string, 4> names{environment("CXX"), "c++", "g++", "clang++"};
    for (const std::string& name : names) {
        if (name.empty()) continue;
        HostCompilerStatus status = examine(name);
        if (status.available) return status;
    }
    HostCompilerStatus none;
    none.reason =
        "no C++ compiler was found: TCONV_CXX and CXX name none, and c++, g++ and clang++ are not on the path";
    return none;
}

}  // namespace

HostCompilerStatus host_compiler_status() {
    try {
        return find_compiler();
    } catch (const std::exception& error) {
        HostCompilerStatus status;
        status.reason = error.what();
        return status;
    }
}

}  // namespace tconv
