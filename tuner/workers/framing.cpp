#include "tuner/workers/framing.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "core/error.hpp"

namespace tconv {
namespace {

constexpr std::size_t k_length_bytes = 4;
constexpr std::size_t k_deepest = 32;

/// Walks over one CBOR item of the few forms that `framed` writes. The library would follow nested ones by recursion,
/// as deep as the bytes say.
class Walk {
public:
    Walk(const char* begin, const char* end) : at_(begin), end_(end) {}

    [[nodiscard]] bool is_one_item() {
        std::vector<std::uint64_t> left{1};  // items still to come, of each level
        while (!left.empty()) {
            if (left.back() == 0) {
                left.pop_back();
                continue;
            }
            --left.back();
            std::uint64_t items = 0;
            if (!item(items)) return false;
            if (items == 0) continue;
            if (left.size() == k_deepest) return false;
            left.push_back(items);
        }
        return at_ == end_;
    }

private:
    /// Steps over a head and what it holds; `items` says how many items follow inside it.
    bool item(std::uint64_t& items) {
        if (at_ == end_) return false;
        const auto head = static_cast<unsigned char>(*at_++);
        const unsigned kind = head >> 5U;
        const unsigned info = head & 31U;
        std::uint64_t value = info;
        if (info >= 24 && !number(info, value)) return false;
        switch (kind) {
            case 0:  // integers
            case 1:
                return true;
            case 2:  // bytes and texts
            case 3:
                if (value > static_cast<std::uint64_t>(end_ - at_)) return false;
                at_ += value;
                return true;
            case 4:  // lists
                items = value;
                return value <= static_cast<std::uint64_t>(end_ - at_);
            case 5:  // maps
                items = 2 * value;
                return value <= static_cast<std::uint64_t>(end_ - at_);
            case 7:  // false, true, null, floating-point numbers
                return info >= 20 && info <= 27 && info != 23 && info != 24;
            default:  // tags
                return false;
        }
    }

    /// The number behind a head; false for the indefinite lengths, which are never written.
    bool number(unsigned info, std::uint64_t& value) {
        if (info > 27) return false;
        const std::ptrdiff_t size = std::ptrdiff_t{1} << (info - 24);
        if (end_ - at_ < size) return false;
        value = 0;
        for (std::ptrdiff_t i = 0; i < size; ++i)
            value = value << 8U | static_cast<unsigned char>(*at_++);
        return true;
    }

    const char* at_;
    const char* end_;
};

}  // namespace

std::string framed(const Message& message) {
    std::string frame(k_length_bytes, '\0');
    Message::to_cbor(message, frame);
    const std::size_t length = frame.size() - k_length_bytes;
    if (length > k_most_message_bytes) {
        throw Error(ErrorKind::device,
                    fmt::format("a message of {} bytes is larger than any may be ({})", length, k_most_message_bytes));
    }
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
    const char* const begin = bytes.data() + k_length_bytes;
    if (!Walk(begin, begin + length).is_one_item())
        throw Error(ErrorKind::device, fmt::format("{} bytes that came as a message are none", length));
    try {
        Message message = Message::from_cbor(begin, begin + length);
        bytes.erase(0, k_length_bytes + length);
        return message;
    } catch (const Message::exception& error) {
        throw Error(ErrorKind::device, fmt::format("a message cannot be read: {}", error.what()));
    }
}

}  // namespace tconv
