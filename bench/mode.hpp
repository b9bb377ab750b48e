#pragma once

#include <string_view>
#include <vector>

#include "core/data_type.hpp"

namespace tconv {

/// A precision class in which tconv and its peer are compared: the tensors' type, and the accuracy or arithmetic asked
/// for.
enum class Mode {
    strict,  ///< f32 tensors, plain fp32 arithmetic on both sides
    fp32,    ///< f32 tensors, fp32 accuracy by any arithmetic; the peer, which has no other way, in plain fp32
    tf32,    ///< f32 tensors, TF32 allowed
    fp16,    ///< f16 tensors, fp32 accumulation
    bf16,    ///< bf16 tensors, fp32 accumulation
};

[[nodiscard]] std::string_view to_string(Mode mode);
/// The reverse of to_string; throws Error(bad_input) naming the accepted values.
[[nodiscard]] Mode parse_mode(std::string_view text);
/// All modes, in the order of tables.
[[nodiscard]] const std::vector<Mode>& all_modes();

[[nodiscard]] DataType data_type_of(Mode mode);

/// Largest error that a contestant may have: the type's default, and 1e-2 where TF32 is allowed.
[[nodiscard]] double tolerance_of(Mode mode);

/// Whether tconv may use plain fp32 arithmetic alone.
[[nodiscard]] inline bool is_strict(Mode mode) {
    return mode == Mode::strict;
}

}  // namespace tconv
