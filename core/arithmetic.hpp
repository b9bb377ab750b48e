#pragma once

#include <string_view>

namespace tconv {

/// The arithmetic whose rate bounds a computation; fp16 runs at the rate of bf16.
enum class Arithmetic {
    fp32,
    tf32,
    split_bf16,  ///< fp32 accuracy from three bf16 products
    bf16,
};

[[nodiscard]] constexpr std::string_view to_string(Arithmetic arithmetic) {
    switch (arithmetic) {
        case Arithmetic::fp32:
            return "fp32";
        case Arithmetic::tf32:
            return "tf32";
        case Arithmetic::split_bf16:
            return "split bf16";
        case Arithmetic::bf16:
            return "bf16";
    }
    return "?";
}

}  // namespace tconv
