#include "device/emulator/loaded_code.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>

#include "cache/code_store.hpp"
#include "core/error.hpp"
#include "device/emulator/sanitizer.hpp"

namespace tconv::emulator {
namespace {

/// A POD at `offset` of `bytes`; false past the end.
template <class T>
bool read_at(const std::string& bytes, std::uint64_t offset, T& value) {
    if (offset > bytes.size() || bytes.size() - offset < sizeof value) return false;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return true;
}

std::string read_code(const std::string& path) {
    const std::filesystem::path file(path);
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(file, ignored)) {
        throw Error(ErrorKind::device, fmt::format("the compiled code '{}' is not there", path));
    }
    try {
        const CodeStore store(file.parent_path());
        const std::string extension = file.extension().string();
        auto bytes = store.get(file.stem().string(), extension.empty() ? extension : extension.substr(1));
        if (bytes) return std::move(*bytes);
    } catch (const Error& error) {
        throw Error(ErrorKind::device, fmt::format("the compiled code '{}' is not loaded: {}", path, error.what()));
    }
    throw Error(ErrorKind::device, fmt::format("the compiled code '{}' is damaged", path));
}

int open_copy(const CodeImage& image) {
    const int file = memfd_create("tconv-kernel", MFD_CLOEXEC);
    if (file < 0) throw Error(ErrorKind::device, fmt::format("memfd_create failed: {}", std::strerror(errno)));
    const std::string& bytes = image.bytes();
    for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t count = write(file, bytes.data() + done, bytes.size() - done);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) {
            const int reason = errno;
            close(file);
            throw Error(ErrorKind::device,
                        fmt::format("a copy of '{}' cannot be written: {}", image.path(), std::strerror(reason)));
        }
        done += static_cast<std::size_t>(count);
    }
    return file;
}

/// The red zones between the objects may be overwritten, but not by an instrumented function.
__attribute__((no_sanitize("address"))) void poison_with_red_zones(volatile unsigned char* begin, std::uint64_t bytes) {
    for (std::uint64_t i = 0; i < bytes; ++i)
        begin[i] = 0xff;
}

/// dlsym answers with a data pointer also for functions.
template <class Function>
Function function_of(void* handle, const std::string& name) {
    return reinterpret_cast<Function>(dlsym(handle, name.c_str()));
}

}  // namespace

CodeImage::CodeImage(const std::string& path) : path_(path), bytes_(read_code(path)) {
    find_static_shared();
}

void CodeImage::find_static_shared() {
    Elf64_Ehdr header{};
    Elf64_Shdr names{};
    const bool elf = read_at(bytes_, 0, header) && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                     header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_shentsize == sizeof(Elf64_Shdr);
    const auto section_at = [&](std::uint64_t index, Elf64_Shdr& section) {
        return read_at(bytes_, header.e_shoff + index * sizeof section, section);
    };
    if (!elf || !section_at(header.e_shstrndx, names)) {
        throw Error(ErrorKind::device, fmt::format("'{}' is not a shared object for this machine", path_));
    }
    for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
        Elf64_Shdr section{};
        char name[5] = {};
        if (!section_at(i, section) || !read_at(bytes_, names.sh_offset + section.sh_name, name)) continue;
        if (std::memcmp(name, ".bss", sizeof name) != 0) continue;
        static_shared_offset_ = section.sh_addr;
        static_shared_bytes_ = section.sh_size;
    }
}

CodeCopy::CodeCopy(const CodeImage& image) : file_(open_copy(image)), image_(image) {
    // The loader recognises a file by its name and by its inode; both are this copy's own as long as the file is open.
    const std::string name = fmt::format("/proc/self/fd/{}", file_);
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    using GetInterface = void (*)(tconv_emulator::Interface*);
    link_map* map = nullptr;
    GetInterface get = nullptr;
    if (handle_ != nullptr) get = function_of<GetInterface>(handle_, "tconv_emulator_interface");
    if (get == nullptr || dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0) {
        const char* reason = dlerror();
        const std::string sentence =
            fmt::format("'{}' cannot be loaded: {}", image.path(), reason != nullptr ? reason : "unknown reason");
        if (handle_ != nullptr) dlclose(handle_);
        close(file_);
        throw Error(ErrorKind::device, sentence);
    }
    get(&interface_);
    static_shared_ = reinterpret_cast<unsigned char*>(map->l_addr + image.static_shared_offset());
}

CodeCopy::~CodeCopy() {
    dlclose(handle_);
    close(file_);
}

Entry CodeCopy::entry(const std::string& kernel) const {
    const auto entry = function_of<Entry>(handle_, "tconv_kernel_" + kernel);
    if (entry == nullptr) {
        throw Error(ErrorKind::device, fmt::format("the compiled code '{}' has no kernel {}", image_.path(), kernel));
    }
    return entry;
}

std::optional<std::size_t> CodeCopy::static_shared_offset_of(const unsigned char* address) const {
    const unsigned char* end = static_shared_ + image_.static_shared_bytes();
    if (std::less<>{}(address, static_shared_) || !std::less<>{}(address, end)) return std::nullopt;
    return static_cast<std::size_t>(address - static_shared_);
}

void CodeCopy::poison_static_shared() {
    const std::uint64_t bytes = image_.static_shared_bytes();
    if constexpr (!sanitizer::enabled) {
        if (bytes != 0) std::memset(static_shared_, 0xff, bytes);
    } else {
        poison_with_red_zones(static_shared_, bytes);
    }
}

}  // namespace tconv::emulator
