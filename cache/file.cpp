#include "cache/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/error.hpp"

namespace tconv {
namespace {

namespace fs = std::filesystem;

class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { close(); }

    [[nodiscard]] int get() const { return number_; }
    [[nodiscard]] bool is_open() const { return number_ >= 0; }
    /// Network file systems report a failed write only here.
    bool close() {
        const int number = std::exchange(number_, -1);
        return number < 0 || ::close(number) == 0;
    }

private:
    int number_;
};

/// Unlinks its file unless told that the file has been renamed.
class TemporaryFile {
public:
    explicit TemporaryFile(std::string name) : name_(std::move(name)) {}
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() {
        if (!name_.empty()) ::unlink(name_.c_str());
    }
    void keep() { name_.clear(); }

private:
    std::string name_;
};

bool write_all(int file, const std::string& bytes) {
    for (std::size_t written = 0; written < bytes.size();) {
        const ssize_t count = ::write(file, bytes.data() + written, bytes.size() - written);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return false;
        written += static_cast<std::size_t>(count);
    }
    return true;
}

}  // namespace

std::optional<std::string> read_file(const fs::path& path) {
    // Not blocking: someone may have put a pipe where the file should be.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (!file.is_open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t size = 0;
    while (size < bytes.size()) {
        const ssize_t count = ::read(file.get(), bytes.data() + size, bytes.size() - size);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return std::nullopt;
        if (count == 0) break;
        size += static_cast<std::size_t>(count);
    }
    bytes.resize(size);
    return bytes;
}

void write_file_whole(const fs::path& path, const std::string& bytes) {
    const auto fail = [&](const char* step) {
        throw Error(ErrorKind::cache,
                    fmt::format("the file '{}' cannot be {}: {}", path.string(), step, std::strerror(errno)));
    };
    std::string name = path.string() + ".XXXXXX";
    Descriptor file(::mkostemp(name.data(), O_CLOEXEC));  // mode 0600
    if (!file.is_open()) fail("made");
    TemporaryFile temporary(name);
    if (!write_all(file.get(), bytes) || ::fsync(file.get()) != 0 || !file.close()) fail("written");
    if (::rename(name.c_str(), path.c_str()) != 0) fail("put in place");
    temporary.keep();
}

}  // namespace tconv
