#include "device/driver/nvml_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace tconv::nvml {
namespace {

std::vector<std::string> library_names() {
    const char* named = std::getenv("TCONV_NVML");
    if (named != nullptr && *named != '\0') return {named};
    return {"libnvidia-ml.so.1", "/usr/local/nvidia/lib64/libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"};
}

std::string text_of(void* handle, Return result) {
    const auto text = reinterpret_cast<ErrorString*>(dlsym(handle, "nvmlErrorString"));
    const char* words = text == nullptr ? nullptr : text(result);
    return words == nullptr ? fmt::format("error {}", result) : std::string(words);
}

Library initialise(void* handle, const std::string& name) {
    const auto init = reinterpret_cast<Init*>(dlsym(handle, "nvmlInit_v2"));
    if (init == nullptr) return {nullptr, fmt::format("The management library {} lacks nvmlInit_v2.", name)};
    if (const Return result = init(); result != k_success)
        return {nullptr, fmt::format("The management library {} does not start: {}.", name, text_of(handle, result))};
    return {handle, {}};
}

Library open() {
    std::string reason;
    for (const std::string& name : library_names()) {
        if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return initialise(handle, name);
        // The first name's message is the telling one; the others are guesses.
        if (reason.empty()) reason = fmt::format("The management library is not there: {}.", dlerror());
    }
    return {nullptr, reason};
}

}  // namespace

const Library& library() {
    static const Library opened = open();
    return opened;
}

void* symbol(const char* name) {
    void* handle = library().handle;
    return handle == nullptr ? nullptr : dlsym(handle, name);
}

std::string error_text(Return result) {
    return text_of(library().handle, result);
}

}  // namespace tconv::nvml
