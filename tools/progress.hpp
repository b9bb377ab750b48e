#pragma once

#include <chrono>
#include <cstdio>
#include <string>

#include "tuner/session.hpp"

namespace tconv {

/// What a terminal can show.
struct TerminalStyle {
    int width = 80;
    bool unicode = true;
};

/// Of the terminal behind `stream`: its width (else COLUMNS, else 80), and UTF-8 where the locale's variables say so.
[[nodiscard]] TerminalStyle terminal_style(std::FILE* stream);

/// One line of at most `style.width - 1` columns: label, bar, trials done of all, best time and its speed-up over the
/// reference, failures by kind, time left. Where the width does not suffice, the failures' kinds go first, then their
/// number, the label, the time left, the speed-up and the bar.
[[nodiscard]] std::string progress_bar_line(const TuneProgress& progress, const std::string& label,
                                            const TerminalStyle& style);

/// The same facts in words, for logs.
[[nodiscard]] std::string progress_plain_line(const TuneProgress& progress, const std::string& label);

/// Seconds until the session ends by its time limit or, at the present rate, by its trials; negative when unknown.
[[nodiscard]] double seconds_left(const TuneProgress& progress);

/// "3 compile_error, 1 wrong_result"; empty without failures.
[[nodiscard]] std::string failures_by_kind(const std::map<OutcomeKind, std::int64_t>& failures);

/// Shows the progress of sessions on `stream`: one updating line on a terminal; elsewhere a line on each new best time,
/// on each change of stage, and every few seconds.
class ProgressPrinter {
public:
    explicit ProgressPrinter(std::FILE* stream);
    ~ProgressPrinter();
    ProgressPrinter(const ProgressPrinter&) = delete;
    ProgressPrinter& operator=(const ProgressPrinter&) = delete;

    /// Starts the next session, named `label`.
    void begin(const std::string& label);
    void update(const TuneProgress& progress);
    /// Ends the session's line.
    void end();

private:
    using Clock = std::chrono::steady_clock;

    void draw(const TuneProgress& progress);

    std::FILE* stream_;
    bool terminal_;
    std::string label_;
    std::string stage_;
    std::optional<double> best_;
    Clock::time_point printed_;
    bool line_open_ = false;
};

}  // namespace tconv
