#include "cache/compression.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include "core/error.hpp"

namespace tconv {
namespace {

// What zlib can reach at most; a size beyond it is a lie, and no memory is set aside for it.
constexpr std::int64_t k_best_ratio = 1032;

}  // namespace

std::string compress(const std::string& bytes) {
    uLongf size = compressBound(static_cast<uLong>(bytes.size()));
    std::string compressed(size, '\0');
    const int code = ::compress(reinterpret_cast<Bytef*>(compressed.data()), &size,
                                reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uLong>(bytes.size()));
    if (code != Z_OK) {
        throw Error(ErrorKind::cache, fmt::format("{} bytes of machine code cannot be compressed: zlib says {}",
                                                  bytes.size(), zError(code)));
    }
    compressed.resize(size);
    return compressed;
}

std::optional<std::string> decompress(const std::string& compressed, std::int64_t size) {
    const auto available = static_cast<std::int64_t>(compressed.size());
    if (size < 0 || size > available * k_best_ratio) return std::nullopt;
    // One byte more than it should take, so that longer data is noticed.
    std::string bytes(static_cast<std::size_t>(size) + 1, '\0');
    auto written = static_cast<uLongf>(bytes.size());
    const int code = ::uncompress(reinterpret_cast<Bytef*>(bytes.data()), &written,
                                  reinterpret_cast<const Bytef*>(compressed.data()), static_cast<uLong>(available));
    if (code != Z_OK || written != static_cast<uLongf>(size)) return std::nullopt;
    bytes.resize(static_cast<std::size_t>(size));
    return bytes;
}

}  // namespace tconv
