#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace tconv {

/// Messages between the command and its workers: a length of four bytes (little-endian), then that many bytes of CBOR
/// (RFC 8949). docs/workers.md lists the messages.
using Message = nlohmann::json;

/// Larger ones are a fault of the other side.
inline constexpr std::size_t k_most_message_bytes = std::size_t{256} << 20;

/// Throws Error(device) where the message is larger than any may be.
[[nodiscard]] std::string framed(const Message& message);

/// Takes the first whole message off the front of `bytes`; none when there is no whole one yet. Throws
/// Error(device) when the bytes are none: what follows them cannot be found any more.
[[nodiscard]] std::optional<Message> take_message(std::string& bytes);

}  // namespace tconv
