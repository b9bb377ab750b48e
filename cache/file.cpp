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
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    [[nodiscard]] int get() const { return number_; }
    [[nodiscard]] bool is_open() const { return number_ >= 0; }

private:
    int number_;
};

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

FileInMaking::FileInMaking(fs::path path) : path_(std::move(path)), name_(path_.string() + ".XXXXXX") {
    file_ = ::mkostemp(name_.data(), O_CLOEXEC);  // mode 0600
    if (file_ < 0) fail("made");
}

FileInMaking::~FileInMaking() {
    if (file_ >= 0) ::close(file_);
    if (!name_.empty()) ::unlink(name_.c_str());
}

void FileInMaking::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(file_, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail("written");
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
}

void FileInMaking::put_in_place() {
    if (::fsync(file_) != 0) fail("written");
    if (::close(std::exchange(file_, -1)) != 0) fail("written");  // network file systems report a failed write here
    if (::rename(name_.c_str(), path_.c_str()) != 0) fail("put in place");
    name_.clear();
}

void FileInMaking::fail(const char* step) const {
    throw Error(ErrorKind::cache,
                fmt::format("the file '{}' cannot be {}: {}", path_.string(), step, std::strerror(errno)));
}

void write_file_whole(const fs::path& path, const std::string& bytes) {
    FileInMaking file(path);
    file.write(bytes);
    file.put_in_place();
}

}  // namespace tconv
