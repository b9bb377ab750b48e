#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/config.hpp"
#include "core/launch_plan.hpp"
#include "core/problem.hpp"

namespace tconv {

/// Text of a kernel source file by name ("direct.cu", "tconv.cuh"): from the folder TCONV_KERNEL_SOURCES where that is
/// set, else embedded in this binary. Throws Error(not_found).
[[nodiscard]] std::string kernel_source(std::string_view name);

/// Names of the embedded files, ascending.
[[nodiscard]] std::vector<std::string> kernel_source_names();

/// The file with every `#include "..."` of another kernel source expanded in place, once each, with #line marks: one
/// translation unit that needs no header search. Throws Error(not_found) naming the missing file.
[[nodiscard]] std::string expand_includes(std::string_view name);

/// Hash over the include closure of a template, 16 hexadecimal digits. Changes exactly when the text that is compiled
/// changes.
[[nodiscard]] std::string template_hash(std::string_view name);

/// The generated constants that specialise a template: sizes, phases and taps of the problem, then the config's
/// parameters and `extra` (derived quantities), each as `constexpr`. The batch is not among them: it stays a run-time
/// argument.
[[nodiscard]] std::string prelude(const Problem& problem, const Config& config);

/// Prelude and expanded template: what the compiler is given. The first form takes template and derived constants from
/// a plan, so that the tuner and whoever replays the plan make the same text.
[[nodiscard]] std::string specialise(const LaunchPlan& plan, const Problem& problem, const Config& config);
[[nodiscard]] std::string specialise(std::string_view template_file, const Problem& problem, const Config& config);

/// What a config asks of the GPU's compiler beside the text: with the parameter `source_order` at 1 the assembler keeps
/// to the order of the source.
[[nodiscard]] std::vector<std::string> compiler_options(const Config& config);

}  // namespace tconv
