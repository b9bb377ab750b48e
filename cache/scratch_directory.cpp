#include "cache/scratch_directory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "core/error.hpp"

namespace tconv {

ScratchDirectory::ScratchDirectory() : owner_(::getpid()) {
    std::error_code no_temporary_directory;
    std::filesystem::path parent = std::filesystem::temp_directory_path(no_temporary_directory);
    if (no_temporary_directory) parent = "/tmp";
    std::string name = (parent / "tconv-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
        throw Error(ErrorKind::cache,
                    fmt::format("no scratch folder can be made as '{}': {}", name, std::strerror(errno)));
    }
    path_ = name;
}

ScratchDirectory::~ScratchDirectory() {
    if (::getpid() != owner_) return;
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace tconv
