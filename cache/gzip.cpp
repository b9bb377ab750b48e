#include "cache/gzip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "core/error.hpp"

namespace tconv {
namespace {

constexpr std::size_t k_chunk = std::size_t{1} << 18;
constexpr int k_gzip_window = 15 + 16;  // the largest window, in gzip's frame

[[noreturn]] void fail(const std::string& sentence) {
    throw Error(ErrorKind::cache, sentence);
}

/// Reads a file piece by piece.
class Source {
public:
    explicit Source(const std::filesystem::path& path) : stream_(path, std::ios::binary), buffer_(k_chunk) {
        if (!stream_) fail(fmt::format("cannot be read: {}", std::strerror(errno)));
    }
    /// Hands the next piece to zlib; false at the end of the file.
    bool refill(z_stream& zlib) {
        stream_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
        if (stream_.bad()) fail(fmt::format("cannot be read: {}", std::strerror(errno)));
        zlib.next_in = reinterpret_cast<Bytef*>(buffer_.data());
        zlib.avail_in = static_cast<uInt>(stream_.gcount());
        return zlib.avail_in != 0;
    }

private:
    std::ifstream stream_;
    std::vector<char> buffer_;
};

/// One of zlib's streams, ended with the object.
template <int (*end)(z_streamp)>
struct Stream {
    z_stream zlib{};
    Stream() = default;
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() { end(&zlib); }
};

void start_output(z_stream& zlib, std::string& buffer) {
    zlib.next_out = reinterpret_cast<Bytef*>(buffer.data());
    zlib.avail_out = static_cast<uInt>(buffer.size());
}

}  // namespace

bool is_gzip(const std::filesystem::path& path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return false;
    std::ifstream stream(path, std::ios::binary);
    std::array<char, 2> start{};
    stream.read(start.data(), start.size());
    return stream && start == std::array{'\x1f', '\x8b'};
}

std::int64_t compress_file(const std::filesystem::path& source, FileInMaking& target) {
    Stream<deflateEnd> stream;
    z_stream& zlib = stream.zlib;
    constexpr int most_memory = 9;
    if (deflateInit2(&zlib, Z_BEST_COMPRESSION, Z_DEFLATED, k_gzip_window, most_memory, Z_DEFAULT_STRATEGY) != Z_OK)
        fail("no memory is left to compress");
    Source input(source);
    std::string output(k_chunk, '\0');
    std::int64_t total = 0;
    for (bool more = true; more;) {
        more = input.refill(zlib);
        do {
            start_output(zlib, output);
            deflate(&zlib, more ? Z_NO_FLUSH : Z_FINISH);
            const std::string_view made(output.data(), output.size() - zlib.avail_out);
            target.write(made);
            total += static_cast<std::int64_t>(made.size());
        } while (zlib.avail_out == 0);
    }
    return total;
}

void decompress_file(const std::filesystem::path& source, const std::filesystem::path& target,
                     std::int64_t most_bytes) {
    Stream<inflateEnd> stream;
    z_stream& zlib = stream.zlib;
    if (inflateInit2(&zlib, k_gzip_window) != Z_OK) fail("cannot be unpacked: no memory is left");
    Source input(source);
    std::ofstream file(target, std::ios::binary | std::ios::trunc);
    std::string output(k_chunk, '\0');
    std::int64_t total = 0;
    int state = Z_OK;
    while (state != Z_STREAM_END) {
        if (zlib.avail_in == 0 && !input.refill(zlib)) fail("is cut short");
        start_output(zlib, output);
        state = inflate(&zlib, Z_NO_FLUSH);
        if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
            fail(fmt::format("is damaged: {}", zlib.msg != nullptr ? zlib.msg : zError(state)));
        const std::size_t made = output.size() - zlib.avail_out;
        total += static_cast<std::int64_t>(made);
        if (total > most_bytes) fail(fmt::format("unpacks to more than {} bytes", most_bytes));
        file.write(output.data(), static_cast<std::streamsize>(made));
        if (!file) fail(fmt::format("cannot be unpacked into '{}': {}", target.string(), std::strerror(errno)));
    }
    file.close();
    if (!file) fail(fmt::format("cannot be unpacked into '{}': {}", target.string(), std::strerror(errno)));
}

}  // namespace tconv
