#include "tools/cache_quarantine_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "cache/quarantine.hpp"
#include "core/error.hpp"
#include "tools/command.hpp"
#include "tools/format.hpp"
#include "tools/stored_problems.hpp"

namespace tconv {
namespace {

constexpr std::size_t k_shown_hash = 8;

struct QuarantineOptions {
    std::string database;
    std::optional<std::string> problem;
    std::optional<std::string> outcome;
};

OutcomeKind parse_failure(const std::string& text) {
    for (int number = 0; number <= static_cast<int>(OutcomeKind::too_slow); ++number) {
        const auto kind = static_cast<OutcomeKind>(number);
        if (is_failure(kind) && to_string(kind) == text) return kind;
    }
    throw Error(ErrorKind::bad_input,
                fmt::format("--outcome ({}) must be crashed, timeout, wrong_result, not_finite, out_of_bounds, "
                            "nondeterministic, launch_error, compile_error or resource_error",
                            shown(text)));
}

/// What the flags ask for; nothing where no database was made yet.
std::optional<QuarantineFilter> make_filter(const QuarantineOptions& options) {
    QuarantineFilter filter;
    if (options.outcome) filter.outcome = parse_failure(*options.outcome);
    const std::optional<Database> database = open_existing(options.database);
    if (!database) return std::nullopt;
    if (options.problem) {
        std::set<std::string> keys;
        for (const ProblemSummary& summary : stored_problems(*database, *options.problem))
            keys.insert(key(summary.problem));
        filter.problems.emplace(keys.begin(), keys.end());
    }
    return filter;
}

std::string environment_of(const QuarantinedTrial& trial) {
    return one_line(fmt::format("driver {}, {}, template {}", trial.driver_version, trial.compiler_version,
                                trial.template_hash.substr(0, k_shown_hash)));
}

void run_list(const QuarantineOptions& options) {
    const auto filter = make_filter(options);
    if (!filter) return;
    const auto trials = list_quarantine(database_path(options.database), *filter);
    if (trials.empty()) {
        fmt::print("the quarantine is empty\n");
        return;
    }
    std::vector<std::vector<std::string>> rows{
        {"outcome", "age", "problem", "family and config", "reason", "environment", "device"}};
    for (const QuarantinedTrial& trial : trials) {
        rows.push_back({std::string(to_string(trial.outcome)), format_age(trial.age_seconds),
                        one_line(name_or(trial.problem_name, trial.problem)),
                        one_line(trial.template_name + " " + to_string(trial.config)), one_line(trial.reason),
                        environment_of(trial), one_line(trial.device)});
    }
    fmt::print("{}", align_columns(rows, 0b10));
}

void run_clear(const QuarantineOptions& options) {
    const auto filter = make_filter(options);
    if (!filter) return;
    const std::int64_t removed = clear_quarantine(database_path(options.database), *filter);
    fmt::print("{} removed from the quarantine{}\n", counted(removed, "trial"),
               removed == 0 ? "" : ": the next tconv tune may try them again");
}

void add_filter(CLI::App& command, QuarantineOptions& options) {
    command.add_option("--problem", options.problem, "Only of this layer name or key, or the beginning of one")
        ->type_name("X");
    command
        .add_option("--outcome", options.outcome,
                    "Only of this kind, such as crashed, timeout or wrong_result; compile_error and resource_error are "
                    "among them only when named here")
        ->type_name("KIND");
    add_database_option(command, options.database);
}

}  // namespace

void add_cache_quarantine_commands(CLI::App& cache) {
    CLI::App* command =
        cache.add_subcommand("quarantine", "Candidates that crashed, hung or were wrong and are not tried again");
    command->require_subcommand(0, 1);
    command->callback([command] {
        if (command->get_subcommands().empty())
            throw Error(ErrorKind::bad_input, "no command given after cache quarantine: it must be list or clear");
    });
    const auto options = std::make_shared<QuarantineOptions>();
    CLI::App* list = command->add_subcommand("list", "One line a candidate, most recent first");
    add_filter(*list, *options);
    list->callback([options] { run_list(*options); });
    CLI::App* clear = command->add_subcommand("clear", "Forget them, so that they are tried again");
    add_filter(*clear, *options);
    clear->callback([options] { run_clear(*options); });
}

}  // namespace tconv
