#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tconv::test {

/// A machine's database and code cache, each in its own place below `folder`.
struct Machine {
    explicit Machine(const std::filesystem::path& folder) : database(folder / "t.db"), code(folder / "code") {}
    std::filesystem::path database;
    std::filesystem::path code;
};

/// Fills the machine with random content: several devices and problems, all kinds of outcome, requests, ceilings,
/// machine code, entries of the code cache and one of the emulator's shared objects.
void fill(const Machine& machine, unsigned seed, int trials = 60);

/// Every row of every table as text, sorted, with the rows that it refers to in place of their ids.
[[nodiscard]] std::vector<std::string> content_of(const std::filesystem::path& database);

/// Carries with the machine's own code cache; the import gives back its warnings.
void export_from(const Machine& machine, const std::filesystem::path& file);
[[nodiscard]] std::vector<std::string> import_into(const Machine& machine, const std::filesystem::path& file);

/// Changes an archive's content as its author could: `change` gets the database inside it.
void tamper(const std::filesystem::path& archive, const std::function<void(const std::filesystem::path&)>& change);
/// The same by SQL.
void tamper(const std::filesystem::path& archive, const std::string& sql);

}  // namespace tconv::test
