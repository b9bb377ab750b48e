#include "runtime/open_device.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "core/error.hpp"
#include "device/driver/driver.hpp"
#include "device/emulator/emulator.hpp"

namespace tconv {
namespace {

std::optional<int> ordinal_of(std::string_view text) {
    constexpr std::string_view prefix = "cuda:";
    if (text.substr(0, prefix.size()) != prefix) return std::nullopt;
    text.remove_prefix(prefix.size());
    int ordinal = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ordinal);
    if (error != std::errc() || end != text.data() + text.size() || ordinal < 0) return std::nullopt;
    return ordinal;
}

}  // namespace

std::unique_ptr<Device> open_device(const std::string& text) {
    if (text == "emulator") return make_emulator();
    if (text == "auto") return driver_status().available ? open_current_cuda_device() : make_emulator();
    if (const std::optional<int> ordinal = ordinal_of(text)) return open_cuda_device(*ordinal);
    throw Error(ErrorKind::bad_input, fmt::format("device ({}) must be auto, cuda:N or emulator", text));
}

}  // namespace tconv
