#pragma once

#include <string_view>

namespace tconv {

/// The arithmetic whose rate bounds a computation; fp16 runs at the rate of bf16.
enum class Arithmetic { fp32, tf32, bf16 };

[[nodiscard]] constexpr std::string_view to_string(Arithmetic arithmetic) {
    switch (arithmetic) {
        case Arithmetic::fp32:
            return "fp32";
        case Arithmetic::tf32:
            return "tf32";
        case Arithmetic::bf16:
            return "bf16";
    }
    return "?";
}

}  // namespace tconv
