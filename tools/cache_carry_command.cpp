#include "tools/cache_carry_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "cache/archive.hpp"
#include "core/error.hpp"
#include "tools/command.hpp"
#include "tools/format.hpp"
#include "tools/stored_problems.hpp"
#include "tools/values.hpp"

namespace tconv {
namespace {

struct CarryOptions {
    std::string file;
    std::string database;
    std::optional<std::string> best;
    bool no_code = false;
    bool only_code = false;
};

void print_warnings(const std::vector<std::string>& warnings) {
    for (const std::string& warning : warnings)
        std::fputs(("tconv: warning: " + one_line(warning) + "\n").c_str(), stderr);
}

/// The database to export; nothing where the user's own was not made yet. One named with --database must be there.
std::optional<std::filesystem::path> stored_rows(const CarryOptions& options) {
    const std::filesystem::path path = database_path(options.database);
    std::error_code error;
    const bool absent = std::filesystem::status(path, error).type() == std::filesystem::file_type::not_found;
    if (absent && options.database.empty()) return std::nullopt;
    return path;
}

void run_export(const CarryOptions& options) {
    ExportRequest request;
    request.file = options.file;
    if (options.no_code && options.only_code)
        throw Error(ErrorKind::bad_input, "--no-code and --only-code together leave nothing to export");
    if (options.only_code && options.best)
        throw Error(ErrorKind::bad_input, "--best picks among trials, so it cannot go with --only-code");
    if (!options.only_code) request.database = stored_rows(options);
    request.code = !options.no_code;
    if (options.best) request.best = parse_integer("--best", *options.best, 0, std::numeric_limits<int>::max());
    const ExportResult result = export_archive(request);
    print_warnings(result.warnings);
    const RowCounts& rows = result.counts.rows;
    std::string content = counted(result.counts.compiled, "compiled kernel");
    if (request.database) {
        content = fmt::format("{} of {}, machine code of {}, {}", counted(rows.trials, "trial"),
                              counted(rows.problems, "problem"), counted(rows.binaries, "trial"), content);
    }
    fmt::print("exported {}: {} to {}\n", content, format_bytes(static_cast<double>(result.bytes)),
               one_line(options.file));
}

void run_import(const CarryOptions& options) {
    const std::filesystem::path database = database_path(options.database);
    const ImportResult result = import_archive(options.file, database);
    print_warnings(result.warnings);
    fmt::print("imported {}: new are {} of {}, {} of {}, {} of {}\n", one_line(options.file), result.taken.rows.trials,
               counted(result.found.rows.trials, "trial"), result.taken.rows.problems,
               counted(result.found.rows.problems, "problem"), result.taken.compiled,
               counted(result.found.compiled, "compiled kernel"));
    if (result.found.rows.trials != 0) fmt::print("database {}\n", one_line(database.string()));
}

}  // namespace

void add_cache_carry_commands(CLI::App& cache) {
    const auto options = std::make_shared<CarryOptions>();
    CLI::App* out = cache.add_subcommand("export", "Write the database and the compiled code into one file to carry");
    out->add_option("file", options->file, "The file to write")->required()->type_name("FILE");
    out->add_option("--best", options->best,
                    "Machine code of the N fastest trials of each problem alone, and of those that win at a smaller "
                    "tolerance; all trials still go along, without the rest of the code cache")
        ->type_name("N");
    out->add_flag("--no-code", options->no_code, "Leave out the code cache");
    out->add_flag("--only-code", options->only_code, "The code cache alone, without the database");
    add_database_option(*out, options->database);
    out->callback([options] { run_export(*options); });

    CLI::App* in = cache.add_subcommand("import", "Merge such a file into the database and the code cache");
    in->add_option("file", options->file, "A file of tconv cache export")->required()->type_name("FILE");
    add_database_option(*in, options->database);
    in->callback([options] { run_import(*options); });
}

}  // namespace tconv
