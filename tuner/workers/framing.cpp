#include "tuner/workers/framing.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "core/error.hpp"

namespace tconv {
namespace {

constexpr std::size_t k_length_bytes = 4;

}  // namespace

std::string framed(const Message& message) {
    std::string frame(k_length_bytes, '\0');
    Message::to_cbor(message, frame);
    const std::size_t length = frame.size() - k_length_bytes;
    for (std::size_t i = 0; i < k_length_bytes; ++i)
        frame[i] = static_cast<char>(static_cast<unsigned char>(length >> (8 * i)));
    return frame;
}

std::optional<Message> take_message(std::string& bytes) {
    if (bytes.size() < k_length_bytes) return std::nullopt;
    std::size_t length = 0;
    for (std::size_t i = 0; i < k_length_bytes; ++i)
        length |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    if (length > k_most_message_bytes) {
        throw Error(ErrorKind::device,
                    fmt::format("a message of {} bytes is larger than any may be ({})", length, k_most_message_bytes));
    }
    if (bytes.size() < k_length_bytes + length) return std::nullopt;
    try {
        Message message = Message::from_cbor(bytes.begin() + k_length_bytes,
                                             bytes.begin() + static_cast<std::ptrdiff_t>(k_length_bytes + length));
        bytes.erase(0, k_length_bytes + length);
        return message;
    } catch (const Message::exception& error) {
        throw Error(ErrorKind::device, fmt::format("a message cannot be read: {}", error.what()));
    }
}

}  // namespace tconv
