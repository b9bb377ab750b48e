#include "cache/code_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

#include "cache/file.hpp"
#include "cache/paths.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"

namespace tconv {
namespace {

// Each file ends in this mark and the hash of what precedes it. At the end, because loaders of ELF images (shared
// objects, cubins) ignore what follows the image, so the file can be opened as it lies.
constexpr std::string_view k_mark = "\ntconv code, hash ";
constexpr std::size_t k_hash_digits = 32;

std::string seal(const std::string& bytes) {
    return bytes + std::string(k_mark) + content_hash(bytes);
}

/// The bytes that were sealed; nothing when the file is cut short or changed.
std::optional<std::string> unseal(std::string file) {
    const std::size_t trailer = k_mark.size() + k_hash_digits;
    if (file.size() < trailer) return std::nullopt;
    const std::size_t size = file.size() - trailer;
    const std::string hash = file.substr(size + k_mark.size());
    if (std::string_view(file).substr(size, k_mark.size()) != k_mark) return std::nullopt;
    file.resize(size);
    if (content_hash(file) != hash) return std::nullopt;
    return file;
}

/// Keys and extensions become file names; anything that could leave the folder is refused.
bool is_name(const std::string& text) {
    const auto plain = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
    };
    return !text.empty() && std::all_of(text.begin(), text.end(), plain);
}

void check_name(const std::string& text) {
    if (!is_name(text)) {
        throw Error(ErrorKind::cache, fmt::format("the name '{}' of compiled code must be letters and digits", text));
    }
}

}  // namespace

CodeStore::CodeStore(std::filesystem::path folder) : folder_(std::move(folder)) {
    make_private_directory(folder_);
}

std::optional<std::string> CodeStore::get(const std::string& key, const std::string& extension) const {
    auto file = read_file(path_of(key, extension));
    if (!file) return std::nullopt;
    return unseal(std::move(*file));
}

std::filesystem::path CodeStore::put(const std::string& key, const std::string& extension,
                                     const std::string& bytes) const {
    std::filesystem::path path = path_of(key, extension);
    // Who comes second uses what is there: another process may be loading it.
    if (!get(key, extension)) write_file_whole(path, seal(bytes));
    return path;
}

std::vector<std::string> CodeStore::keys(const std::string& extension) const {
    check_name(extension);
    std::vector<std::string> found;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder_, error), end; !error && entry != end;
         entry.increment(error)) {
        const std::filesystem::path& path = entry->path();
        if (path.extension() == "." + extension && is_name(path.stem().string())) found.push_back(path.stem().string());
    }
    if (error) {
        throw Error(ErrorKind::cache,
                    fmt::format("the folder '{}' cannot be listed: {}", folder_.string(), error.message()));
    }
    std::sort(found.begin(), found.end());
    return found;
}

std::filesystem::path CodeStore::path_of(const std::string& key, const std::string& extension) const {
    check_name(key);
    check_name(extension);
    return folder_ / (key + "." + extension);
}

}  // namespace tconv
