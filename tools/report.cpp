#include "tools/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/format.hpp"
#include "tools/progress.hpp"

namespace tconv {
namespace {

constexpr std::size_t k_label_width = 12;

/// A labelled value, wrapped with its continuation lines under its first.
void add_row(std::string& text, const std::string& label, const std::string& value, int width) {
    const std::size_t room = static_cast<std::size_t>(std::max(width, 60)) - k_label_width - 2;
    std::string head = "  " + label + std::string(k_label_width - label.size(), ' ');
    for (const std::string& line : wrap(value, room)) {
        text += head + line + "\n";
        head.assign(k_label_width + 2, ' ');
    }
}

std::string title(const TuneResult& r) {
    const Problem& p = r.problem;
    const std::string facts = fmt::format(
        "{}-D, batch {}, {} -> {} channels, input {}, kernel {}, output {}", p.spatial_axes, p.batch, p.in_channels,
        p.out_channels, join_extents(p, p.input), join_extents(p, p.kernel), join_extents(p, output_extents(p)));
    return r.problem_name.empty() ? facts : r.problem_name + ": " + facts;
}

std::string time_words(const TuneResult& r) {
    const Timing& timing = r.winner->outcome.timing;
    return fmt::format("{} +- {:.1f} % (median of {} sample{}){}", format_milliseconds(timing.median),
                       100 * timing.spread, timing.samples.size(), timing.samples.size() == 1 ? "" : "s",
                       r.emulated ? ", time of the emulation: no GPU figure" : "");
}

std::string error_words(const TuneResult& r) {
    const double error = r.winner->outcome.error.relative;
    return fmt::format("{:.2g}, tolerance {:.2g}{}", error, r.tolerance, r.strict ? ", plain fp32 arithmetic" : "");
}

std::string limit_words(const TuneResult& r) {
    return fmt::format("{:.1f} % of what the device allows ({} at best)", 100 * share_of_limit(r),
                       format_milliseconds(r.limit_milliseconds));
}

std::string runner_up_words(const TuneResult& r) {
    const Trial& second = *r.runner_up;
    const bool same_family = second.template_name == r.winner->template_name;
    return fmt::format("{}, {}{}", format_milliseconds(second.outcome.timing.median),
                       same_family ? "the winner but for " : second.template_name + " ",
                       config_difference(second, *r.winner));
}

/// What accuracy costs: the fastest trial of each error, where that is more than the winner.
void add_front(std::string& text, const TuneResult& r, int width) {
    constexpr std::size_t k_most_rows = 8;
    if (r.front.size() < 2) return;
    for (std::size_t i = 0; i < std::min(r.front.size(), k_most_rows); ++i) {
        const Trial& trial = r.front[i];
        const bool same_family = trial.template_name == r.winner->template_name;
        const std::string config = config_difference(trial, *r.winner);
        const std::string what = same_family && config.empty() ? "the winner"
                                 : same_family                 ? "the winner but for " + config
                                                               : trial.template_name + " " + config;
        add_row(text, i == 0 ? "front" : "",
                fmt::format("{}, error {:.1e}{}: {}", format_milliseconds(trial.outcome.timing.median),
                            trial.outcome.error.relative, trial.strict ? ", strict" : "", what),
                width);
    }
    if (r.front.size() > k_most_rows)
        add_row(text, "", fmt::format("and {} more, in --json", r.front.size() - k_most_rows), width);
}

std::string trial_words(const TuneResult& r) {
    const std::string failed = failures_by_kind(r.failures);
    const std::string former =
        r.trials_former > 0 ? fmt::format(" ({} of the best with former kernels)", r.trials_former) : "";
    return fmt::format("{} measured{}, {} reused{}{}", r.trials_measured, former, r.trials_reused,
                       failed.empty() ? "" : "; failed: " + failed, r.interrupted ? "; interrupted" : "");
}

std::string busy_words(const TuneResult& r) {
    const double share = r.seconds > 0 ? 100 * r.device_busy_seconds / r.seconds : 0;
    return fmt::format("{:.1f} s of {:.1f} s ({:.0f} %)", r.device_busy_seconds, r.seconds, share);
}

/// "validating 0.52 s, timing 0.31 s": stages that took no hundredth of a second are left out.
std::string stage_words(const TuneResult& r) {
    std::string text;
    visit_stages(r.stages, [&](const char* name, double seconds) {
        if (seconds < 0.005) return;
        std::string words = name;
        std::replace(words.begin(), words.end(), '_', ' ');
        text += fmt::format("{}{} {:.2f} s", text.empty() ? "" : ", ", words, seconds);
    });
    return text;
}

void add_winner(std::string& text, const TuneResult& r, int width) {
    add_row(text, "winner", r.winner->template_name + " " + to_string(r.winner->config), width);
    add_row(text, "time", time_words(r), width);
    if (const std::string& remark = r.winner->outcome.timing.remark; !remark.empty())
        add_row(text, "remark", one_line(remark), width);
    if (r.reference_milliseconds) {
        add_row(text, "speed-up",
                fmt::format("{} over the reference ({})",
                            format_factor(*r.reference_milliseconds / r.winner->outcome.timing.median),
                            format_milliseconds(*r.reference_milliseconds)),
                width);
    }
    // A limit of the emulation would tell nobody anything.
    if (!r.emulated) add_row(text, "limit", limit_words(r), width);
    add_row(text, "error", error_words(r), width);
    if (r.runner_up) add_row(text, "runner-up", runner_up_words(r), width);
    add_front(text, r, width);
}

}  // namespace

double share_of_limit(const TuneResult& result) {
    if (!result.winner || !(result.winner->outcome.timing.median > 0)) return 0;
    return result.limit_milliseconds / result.winner->outcome.timing.median;
}

std::string config_difference(const Trial& trial, const Trial& other) {
    if (trial.template_name != other.template_name) return to_string(trial.config);
    Config changed;
    for (const auto& [name, value] : trial.config) {
        const auto twin = other.config.find(name);
        if (twin == other.config.end() || twin->second != value) changed.emplace(name, value);
    }
    return to_string(changed);
}

std::string report(const TuneResult& r, const ReportContext& context) {
    std::string text = title(r) + "\n";
    add_row(text, "problem", key(r.problem), context.width);
    add_row(text, "device", r.device, context.width);
    if (r.winner) {
        add_winner(text, r, context.width);
    } else if (r.trials_measured + r.trials_reused == 0) {
        add_row(text, "winner", "none: no candidate was tried", context.width);
    } else {
        add_row(text, "winner",
                fmt::format("none: no candidate was valid with an error up to {:.2g}{}", r.tolerance,
                            r.strict ? " in plain fp32 arithmetic" : ""),
                context.width);
    }
    add_row(text, "trials", trial_words(r), context.width);
    add_row(text, "device busy", busy_words(r), context.width);
    if (const std::string stages = stage_words(r); !stages.empty()) add_row(text, "spent on", stages, context.width);
    add_row(text, "stored in", context.database.empty() ? "nowhere" : context.database, context.width);
    for (const std::string& warning : r.warnings)
        add_row(text, "warning", one_line(warning), context.width);
    return text;
}

std::string summary(const std::vector<TuneResult>& results) {
    std::vector<std::vector<std::string>> rows{{"layer", "time", "speed-up", "limit", "error", "family", "trials"}};
    for (const TuneResult& r : results) {
        const std::string trials = fmt::format("{}", r.trials_measured + r.trials_reused);
        if (!r.winner) {
            rows.push_back({r.problem_name, "no winner", "", "", "", "", trials});
            continue;
        }
        const double median = r.winner->outcome.timing.median;
        rows.push_back({r.problem_name, format_milliseconds(median),
                        r.reference_milliseconds ? format_factor(*r.reference_milliseconds / median) : "",
                        r.emulated ? "" : fmt::format("{:.0f} %", 100 * share_of_limit(r)),
                        fmt::format("{:.1e}", r.winner->outcome.error.relative), r.winner->template_name, trials});
    }
    const bool emulated = std::any_of(results.begin(), results.end(), [](const TuneResult& r) { return r.emulated; });
    return align_columns(rows, 0b1011110) + (emulated ? "times of the emulation: no GPU figures\n" : "");
}

}  // namespace tconv
