#include "tools/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "tools/format.hpp"

namespace tconv {
namespace {

constexpr auto k_redraw_interval = std::chrono::milliseconds(100);
constexpr auto k_plain_interval = std::chrono::seconds(5);
constexpr int k_smallest_bar = 6;
constexpr int k_largest_bar = 24;

/// Share of the session that is over, by trials or by time, whichever is further.
double share_done(const TuneProgress& p) {
    const double trials =
        p.trials_total > 0 ? static_cast<double>(p.trials_done) / static_cast<double>(p.trials_total) : 0;
    const double time = p.seconds_limit > 0 ? p.seconds_used / p.seconds_limit : 0;
    return std::clamp(std::max(trials, time), 0.0, 1.0);
}

std::string bar(double share, int cells, bool unicode) {
    const int full = static_cast<int>(std::floor(share * cells));
    std::string text;
    for (int cell = 0; cell < cells; ++cell) {
        if (unicode) {
            text += cell < full ? "█" : "░";
        } else {
            text += cell < full ? '#' : '.';
        }
    }
    return unicode ? text : "[" + text + "]";
}

std::string stage_words(const TuneProgress& p) {
    if (p.stage == "reference") return "timing the reference";
    if (p.stage == "finalists") return "re-timing finalists";
    return fmt::format("{}/{}", p.trials_done, p.trials_total);
}

std::string speed_up(const TuneProgress& p) {
    if (!p.best_milliseconds || !p.reference_milliseconds || !(*p.best_milliseconds > 0)) return "";
    return format_factor(*p.reference_milliseconds / *p.best_milliseconds);
}

/// How much of a line is shown: each level drops what the one above still has.
enum Level { bare, with_bar, with_speed_up, with_time_left, with_label, with_failures, with_failure_kinds };

/// Failures with the kinds' first words: "3 compile, 1 wrong failed".
std::string short_failures(const TuneProgress& p, bool kinds) {
    std::int64_t total = 0;
    std::string text;
    for (const auto& [kind, count] : p.failures) {
        if (count == 0) continue;
        const std::string_view name = to_string(kind);
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name.substr(0, name.find('_')));
        total += count;
    }
    if (total == 0) return "";
    return kinds ? text + " failed" : fmt::format("{} failed", total);
}

std::string line_at(const TuneProgress& p, const std::string& label, const std::string& bar_text, int level) {
    std::string best;
    if (p.best_milliseconds) best = "best " + format_milliseconds(*p.best_milliseconds);
    if (const std::string factor = speed_up(p); level >= with_speed_up && !factor.empty())
        best += " (" + factor + " ref)";
    const double left = seconds_left(p);
    const std::array<std::string, 6> parts{
        level >= with_label ? label : "",
        level >= with_bar ? bar_text : "",
        stage_words(p),
        best,
        level >= with_failures ? short_failures(p, level >= with_failure_kinds) : "",
        level >= with_time_left && left >= 0 ? format_clock(left) + " left" : "",
    };
    std::string line;
    for (const std::string& part : parts) {
        if (!part.empty()) line += (line.empty() ? "" : "  ") + part;
    }
    return line;
}

bool locale_is_utf8() {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        const char* value = std::getenv(name);
        if (value == nullptr || *value == '\0') continue;
        const std::string_view text(value);
        return text.find("UTF-8") != std::string_view::npos || text.find("utf8") != std::string_view::npos;
    }
    return false;
}

}  // namespace

TerminalStyle terminal_style(std::FILE* stream) {
    TerminalStyle style;
    winsize size{};
    const char* columns = std::getenv("COLUMNS");
    if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        style.width = size.ws_col;
    } else if (columns != nullptr && std::atoi(columns) > 0) {
        style.width = std::atoi(columns);
    }
    style.unicode = locale_is_utf8();
    return style;
}

std::string failures_by_kind(const std::map<OutcomeKind, std::int64_t>& failures) {
    std::string text;
    for (const auto& [kind, count] : failures) {
        if (count == 0) continue;
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, to_string(kind));
    }
    return text;
}

double seconds_left(const TuneProgress& p) {
    if (p.stage == "finalists") return -1;  // a second or two, whatever is left of the limit
    double left = p.seconds_limit > 0 ? std::max(p.seconds_limit - p.seconds_used, 0.0) : -1;
    if (p.trials_done > 0 && p.trials_total > 0) {
        const double a_trial = p.seconds_used / static_cast<double>(p.trials_done);
        const double by_trials = a_trial * static_cast<double>(p.trials_total - p.trials_done);
        left = left < 0 ? by_trials : std::min(left, by_trials);
    }
    return left;
}

std::string progress_bar_line(const TuneProgress& p, const std::string& label, const TerminalStyle& style) {
    const int room = std::max(style.width - 1, 1);
    for (int level = with_failure_kinds; level >= with_bar; --level) {
        const int spare = room - static_cast<int>(display_width(line_at(p, label, "", level)));
        const int cells = std::min(spare - (style.unicode ? 2 : 4), k_largest_bar);
        if (cells >= k_smallest_bar) return line_at(p, label, bar(share_done(p), cells, style.unicode), level);
    }
    return cut(line_at(p, label, "", bare), static_cast<std::size_t>(room));
}

std::string progress_plain_line(const TuneProgress& p, const std::string& label) {
    std::string line = label.empty() ? "" : label + ": ";
    line += stage_words(p) + (p.stage == "search" ? " trials" : "");
    if (p.best_milliseconds) line += ", best " + format_milliseconds(*p.best_milliseconds);
    if (const std::string factor = speed_up(p); !factor.empty()) line += " (" + factor + " reference)";
    if (const std::string failed = failures_by_kind(p.failures); !failed.empty()) line += ", failed: " + failed;
    if (const double left = seconds_left(p); left >= 0) line += ", " + format_clock(left) + " left";
    return line;
}

ProgressPrinter::ProgressPrinter(std::FILE* stream) : stream_(stream), terminal_(isatty(fileno(stream)) == 1) {
    // Without cursor movement a line cannot be updated in place.
    const char* term = std::getenv("TERM");
    if (term != nullptr && std::string_view(term) == "dumb") terminal_ = false;
}

ProgressPrinter::~ProgressPrinter() {
    if (line_open_) std::fputc('\n', stream_);
}

void ProgressPrinter::begin(const std::string& label) {
    end();
    label_ = label;
    stage_.clear();
    best_.reset();
    printed_ = {};
}

void ProgressPrinter::update(const TuneProgress& progress) {
    const auto now = Clock::now();
    const bool news = progress.stage != stage_ || progress.best_milliseconds != best_;
    const bool due = terminal_ ? now - printed_ >= k_redraw_interval : now - printed_ >= k_plain_interval;
    const bool last = progress.trials_done == progress.trials_total;
    if (!news && !due && !(terminal_ && last)) return;
    stage_ = progress.stage;
    best_ = progress.best_milliseconds;
    printed_ = now;
    draw(progress);
}

void ProgressPrinter::draw(const TuneProgress& progress) {
    if (terminal_) {
        // Back to the start, the line, and clear what an earlier, longer line left.
        const std::string line = progress_bar_line(progress, label_, terminal_style(stream_));
        std::fputs(("\r" + line + "\x1b[K").c_str(), stream_);
        line_open_ = true;
    } else {
        std::fputs((progress_plain_line(progress, label_) + "\n").c_str(), stream_);
    }
    std::fflush(stream_);
}

void ProgressPrinter::end() {
    if (line_open_) std::fputc('\n', stream_);
    line_open_ = false;
}

}  // namespace tconv
