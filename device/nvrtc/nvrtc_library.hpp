#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tconv::nvrtc {

/// Where libnvrtc may lie, in the order to try: `environment("TCONV_NVRTC")` alone where set (a file or a folder), else
/// the bare names for the loader, then the same names in CUDA_HOME, CUDA_PATH, `toolkit_libraries` and
/// /usr/local/cuda*.
[[nodiscard]] std::vector<std::string> library_candidates(const std::function<std::string(const char*)>& environment,
                                                          const std::string& toolkit_libraries);

/// The opened library, never closed; `handle` is null where none was found, and `reason` says so in one sentence.
struct Library {
    void* handle = nullptr;
    std::string path;
    std::string reason;
};

/// Opens the first candidate that loads, and its built-ins beside it. Never throws.
[[nodiscard]] Library open_library(const std::vector<std::string>& candidates);

}  // namespace tconv::nvrtc
