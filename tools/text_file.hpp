#pragma once

#include <filesystem>
#include <string>

namespace tconv {

/// The whole text of a user's file. Throws Error(bad_input) "WHAT (FILE) cannot be read: reason".
[[nodiscard]] std::string read_text_file(const std::filesystem::path& file, const char* what);

}  // namespace tconv
