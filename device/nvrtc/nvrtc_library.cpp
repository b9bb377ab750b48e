#include "device/nvrtc/nvrtc_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

namespace tconv::nvrtc {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 3> k_names{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

void add_names_in(const fs::path& folder, std::vector<std::string>& candidates) {
    for (const char* name : k_names) {
        const std::string path = (folder / name).string();
        if (std::find(candidates.begin(), candidates.end(), path) == candidates.end()) candidates.push_back(path);
    }
}

void add_toolkit(const fs::path& toolkit, std::vector<std::string>& candidates) {
    add_names_in(toolkit / "lib64", candidates);
    add_names_in(toolkit / "targets/x86_64-linux/lib", candidates);
}

// /usr/local/cuda first, then the numbered ones, newest first.
std::vector<fs::path> installed_toolkits() {
    std::vector<fs::path> toolkits;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/usr/local", ignored)) {
        const std::string name = entry.path().filename().string();
        if (name.rfind("cuda-", 0) == 0) toolkits.push_back(entry.path());
    }
    std::sort(toolkits.rbegin(), toolkits.rend());
    toolkits.insert(toolkits.begin(), "/usr/local/cuda");
    return toolkits;
}

// NVRTC opens its built-ins by bare name; when it was itself found by path the loader does not look beside it.
void open_builtins(void* handle) {
    void* symbol = dlsym(handle, "nvrtcVersion");
    Dl_info where{};
    if (symbol == nullptr || dladdr(symbol, &where) == 0 || where.dli_fname == nullptr) return;
    std::error_code ignored;
    const fs::path library = fs::canonical(where.dli_fname, ignored);
    for (const auto& entry : fs::directory_iterator(library.parent_path(), ignored)) {
        const std::string name = entry.path().filename().string();
        if (name.rfind("libnvrtc-builtins.so.", 0) == 0) dlopen(entry.path().c_str(), RTLD_NOW | RTLD_GLOBAL);
    }
}

std::string opened_path(void* handle, const std::string& fallback) {
    void* symbol = dlsym(handle, "nvrtcVersion");
    Dl_info where{};
    return symbol != nullptr && dladdr(symbol, &where) != 0 && where.dli_fname != nullptr ? where.dli_fname : fallback;
}

}  // namespace

std::vector<std::string> library_candidates(const std::function<std::string(const char*)>& environment,
                                            const std::string& toolkit_libraries) {
    std::vector<std::string> candidates;
    if (const std::string named = environment("TCONV_NVRTC"); !named.empty()) {
        std::error_code ignored;
        if (fs::is_directory(named, ignored)) {
            add_names_in(named, candidates);
        } else {
            candidates.push_back(named);
        }
        return candidates;
    }
    candidates.assign(k_names.begin(), k_names.end());
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
        if (const std::string toolkit = environment(variable); !toolkit.empty()) add_toolkit(toolkit, candidates);
    }
    if (!toolkit_libraries.empty()) add_names_in(toolkit_libraries, candidates);
    for (const fs::path& toolkit : installed_toolkits())
        add_toolkit(toolkit, candidates);
    return candidates;
}

Library open_library(const std::vector<std::string>& candidates) {
    Library library;
    for (const std::string& candidate : candidates) {
        if (void* handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) {
            library.handle = handle;
            library.path = opened_path(handle, candidate);
            library.reason.clear();
            open_builtins(handle);
            return library;
        }
        // Of all messages the telling one is that of a file that is there and does not load, else the first.
        std::error_code ignored;
        const std::string message = dlerror();
        if (library.reason.empty() || fs::exists(candidate, ignored)) library.reason = message;
    }
    library.reason = fmt::format("NVRTC, the CUDA run-time compiler, is not there: {}.", library.reason);
    return library;
}

}  // namespace tconv::nvrtc
