#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>

#include "cache/database.hpp"
#include "cache/front.hpp"
#include "core/error.hpp"
#include "tools/cache_care_command.hpp"
#include "tools/cache_carry_command.hpp"
#include "tools/cache_quarantine_command.hpp"
#include "tools/command.hpp"
#include "tools/format.hpp"
#include "tools/stored_problems.hpp"
#include "tools/values.hpp"

namespace tconv {
namespace {

constexpr std::size_t k_top_trials = 5;
constexpr std::size_t k_reasons_a_kind = 3;

struct CacheOptions {
    std::string database;
    std::string problem;
    std::optional<std::string> tolerance;
    bool strict = false;
};

void run_list(const CacheOptions& options) {
    const std::optional<Database> database = open_existing(options.database);
    if (!database) return;
    std::vector<std::vector<std::string>> rows{
        {"problem", "best", "error", "family", "valid", "trials", "updated", "device"}};
    for (const ProblemSummary& s : database->list()) {
        rows.push_back({one_line(name_or(s.problem_name, key(s.problem))),
                        s.best_median ? format_milliseconds(*s.best_median) : "none",
                        s.best_median ? fmt::format("{:.1e}", s.best_error) : "", one_line(s.best_template),
                        fmt::format("{}", s.valid), fmt::format("{}", s.trials), one_line(s.updated),
                        one_line(s.device)});
    }
    fmt::print("{}", align_columns(rows, 0b110110));
}

void print_top(const std::vector<const Trial*>& winners) {
    std::vector<std::vector<std::string>> rows{{"", "time", "spread", "error", "family and config"}};
    for (std::size_t rank = 0; rank < std::min(winners.size(), k_top_trials); ++rank) {
        const Outcome& o = winners[rank]->outcome;
        rows.push_back({rank == 0 ? "  winner" : fmt::format("  {}", rank + 1), format_milliseconds(o.timing.median),
                        fmt::format("{:.1f} %", 100 * o.timing.spread), fmt::format("{:.1e}", o.error.relative),
                        winners[rank]->template_name + " " + to_string(winners[rank]->config)});
    }
    fmt::print("{}", align_columns(rows, 0b1110));
}

std::string config_words(const Trial& trial) {
    constexpr std::size_t k_longest = 72;
    return cut(trial.template_name + " " + to_string(trial.config), k_longest);
}

/// What a program gets for each tolerance that it can ask for, freely or strictly.
void print_front(const std::vector<const Trial*>& front) {
    std::vector<std::vector<std::string>> rows{{"  front", "time", "error", "strict", "family and config"}};
    for (const Trial* trial : front) {
        rows.push_back({"", format_milliseconds(trial->outcome.timing.median),
                        fmt::format("{:.1e}", trial->outcome.error.relative), trial->strict ? "yes" : "no",
                        one_line(config_words(*trial))});
    }
    fmt::print("{}", align_columns(rows, 0b110));
}

void print_failures(const std::vector<Trial>& trials) {
    std::map<OutcomeKind, std::map<std::string, std::int64_t>> reasons;
    for (const Trial& trial : trials) {
        if (trial.outcome.kind != OutcomeKind::valid) ++reasons[trial.outcome.kind][one_line(trial.outcome.reason)];
    }
    for (const auto& [kind, counts] : reasons) {
        std::vector<std::pair<std::int64_t, std::string>> common;
        std::int64_t total = 0;
        for (const auto& [reason, count] : counts) {
            common.emplace_back(count, reason);
            total += count;
        }
        std::stable_sort(common.begin(), common.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
        fmt::print("  {} {}\n", total, to_string(kind));
        for (std::size_t i = 0; i < std::min(common.size(), k_reasons_a_kind); ++i)
            fmt::print("    {} x {}\n", common[i].first, common[i].second);
        if (common.size() > k_reasons_a_kind)
            fmt::print("    and {} other reasons\n", common.size() - k_reasons_a_kind);
    }
}

void print_problem(const Database& database, const ProblemSummary& s, std::optional<double> asked_tolerance,
                   bool strict) {
    const double tolerance = asked_tolerance.value_or(default_tolerance(s.problem.dtype));
    const std::vector<Trial> trials = database.trials(s.problem, s.device);
    const std::vector<const Trial*> all = ranked(trials);
    std::vector<const Trial*> winners;
    for (const Trial* trial : all) {
        if (trial->outcome.error.relative <= tolerance && (trial->strict || !strict)) winners.push_back(trial);
    }
    if (!s.problem_name.empty()) fmt::print("{}: ", one_line(s.problem_name));
    fmt::print("{}\n  on {}\n  {} trials, {} valid within {:.2g}{}, last {}\n", key(s.problem), one_line(s.device),
               trials.size(), winners.size(), tolerance, strict ? " in plain fp32 arithmetic" : "",
               one_line(s.updated));
    if (!winners.empty()) print_top(winners);
    if (!all.empty()) print_front(winners_at_some_tolerance(all));
    print_failures(trials);
}

void run_show(const CacheOptions& options) {
    std::optional<double> tolerance;
    if (options.tolerance) tolerance = parse_tolerance("--tolerance", *options.tolerance);
    const std::optional<Database> database = open_existing(options.database);
    if (!database)
        throw Error(ErrorKind::not_found, fmt::format("problem ({}) was never tuned", shown(options.problem)));
    for (const ProblemSummary& summary : stored_problems(*database, options.problem))
        print_problem(*database, summary, tolerance, options.strict);
}

}  // namespace

void add_cache_command(CLI::App& app, int& exit_code) {
    CLI::App* command =
        app.add_subcommand("cache", "Look into the database of trials and winners, care for it, and carry it");
    command->require_subcommand(0, 1);
    command->callback([command] {
        if (command->get_subcommands().empty())
            throw Error(
                ErrorKind::bad_input,
                "no command given after cache: it must be list, show, quarantine, verify, prune, path, export or "
                "import");
    });
    const auto options = std::make_shared<CacheOptions>();
    CLI::App* list = command->add_subcommand("list", "One line a problem and device, most recent first");
    add_database_option(*list, options->database);
    list->callback([options] { run_list(*options); });

    CLI::App* show = command->add_subcommand(
        "show", "The winner, the next best trials, the front of time and error, and the failures of a problem");
    show->add_option("problem", options->problem, "Layer name or key, or the beginning of one")->required();
    show->add_option("--tolerance", options->tolerance, "Largest error of a winner (default: the type's own)")
        ->type_name("X");
    show->add_flag("--strict", options->strict, "Winners in plain fp32 arithmetic alone");
    add_database_option(*show, options->database);
    show->callback([options] { run_show(*options); });

    CLI::App* path = command->add_subcommand("path", "Print the path of the database");
    add_database_option(*path, options->database);
    path->callback([options] { fmt::print("{}\n", database_path(options->database).string()); });
    add_cache_quarantine_commands(*command);
    add_cache_care_commands(*command, exit_code);
    add_cache_carry_commands(*command);
}

}  // namespace tconv
