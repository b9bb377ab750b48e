#include "tools/text_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>

#include "core/error.hpp"

namespace tconv {

std::string read_text_file(const std::filesystem::path& file, const char* what) {
    const auto reject = [&](const std::string& reason) {
        throw Error(ErrorKind::bad_input, fmt::format("{} ({}) cannot be read: {}", what, file.string(), reason));
    };
    std::error_code error;
    if (std::filesystem::is_directory(file, error)) reject("it is a directory");
    std::ifstream stream(file, std::ios::binary);
    if (!stream) reject(std::strerror(errno));
    std::ostringstream text;
    text << stream.rdbuf();
    if (stream.bad()) reject(std::strerror(errno));
    return text.str();
}

}  // namespace tconv
