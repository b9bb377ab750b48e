#include "tools/cache_care_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cache/care.hpp"
#include "kernel_sources/sources.hpp"
#include "tools/command.hpp"
#include "tools/format.hpp"
#include "tools/stored_problems.hpp"
#include "tuner/search_space.hpp"

namespace tconv {
namespace {

struct CareOptions {
    std::string database;
    bool stale = false;
};

int run_verify(const CareOptions& options) {
    const auto path = existing_path(options.database);
    if (!path) return k_exit_ok;
    const VerifyResult found = verify_database(*path);
    fmt::print("read {} of {}, {}, machine code of {}\n", counted(found.trials, "trial"),
               counted(found.problems, "problem"), counted(found.plans, "plan"), counted(found.binaries, "kernel"));
    if (found.orphans != 0)
        fmt::print("{} named by no trial (tconv cache prune removes that)\n", counted(found.orphans, "kernel"));
    for (const std::string& sentence : found.sentences)
        fmt::print("damaged: {}\n", sentence);
    if (const auto more = found.damages - static_cast<std::int64_t>(found.sentences.size()); more > 0)
        fmt::print("and {} more\n", more);
    fmt::print("{}\n", found.damages == 0 ? "sound" : counted(found.damages, "damage"));
    return found.damages == 0 ? k_exit_ok : k_exit_failed;
}

void run_prune(const CareOptions& options) {
    PruneRequest request;
    request.stale = options.stale;
    if (options.stale) {
        for (const SearchSpace& space : load_search_spaces())
            request.present.emplace_back(space.name(), template_hash(space.template_file()));
    }
    const auto path = existing_path(options.database);
    if (!path) return;
    const PruneResult removed = prune_database(*path, request);
    fmt::print("removed {}, machine code of {}, {}: {} are now {}\n", counted(removed.trials, "trial"),
               counted(removed.binaries, "kernel"), counted(removed.problems, "problem"),
               format_bytes(static_cast<double>(removed.bytes_before)),
               format_bytes(static_cast<double>(removed.bytes_after)));
    if (!removed.note.empty()) fmt::print("the file was not made smaller: {}\n", one_line(removed.note));
}

}  // namespace

void add_cache_care_commands(CLI::App& cache, int& exit_code) {
    const auto options = std::make_shared<CareOptions>();
    CLI::App* verify = cache.add_subcommand("verify", "Check the whole database; exit code 1 where it is damaged");
    add_database_option(*verify, options->database);
    verify->callback([options, &exit_code] { exit_code = run_verify(*options); });

    CLI::App* prune = cache.add_subcommand("prune", "Remove what nothing needs any more, and make the file smaller");
    prune->add_flag("--stale", options->stale,
                    "Also trials of kernel sources that have changed since, except those that still win");
    add_database_option(*prune, options->database);
    prune->callback([options] { run_prune(*options); });
}

}  // namespace tconv
