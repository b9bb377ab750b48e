#include "tools/bench_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "tools/format.hpp"

namespace tconv {
namespace {

using Row = std::vector<std::string>;

std::string percent(double share) {
    return share > 0 ? fmt::format("{:.0f} %", 100 * share) : "";
}

std::string cell_name(const BenchResult& r) {
    return fmt::format("{} {}", to_string(r.mode), to_string(r.problem.layout));
}

/// Which columns a run has something for.
struct Columns {
    bool peer;
    bool limits;
};

Columns columns_of(const BenchRun& run) {
    return {
        std::any_of(run.results.begin(), run.results.end(), [](const BenchResult& r) { return r.peer.has_value(); }),
        !run.emulated};
}

std::string family_of(const Contestant& ours) {
    return one_line(ours.description) + (ours.rung == "stale" ? " (stale)" : "");
}

Row row_of(const BenchResult& r, const Columns& columns) {
    const auto milliseconds = [](const std::optional<Contestant>& side) {
        return side ? format_milliseconds(side->timing.median) : "none";
    };
    const auto error = [](const std::optional<Contestant>& side) {
        return side ? fmt::format("{:.1e}", side->error) : "";
    };
    const auto limit = [&](const std::optional<Contestant>& side) {
        return side ? percent(share_of_limit(r, *side)) : "";
    };
    Row row{fmt::format("  {}", one_line(r.layer)), cell_name(r), milliseconds(r.ours)};
    if (columns.peer) {
        const std::optional<double> factor = speed_up(r);
        row.insert(row.end(), {milliseconds(r.peer), factor ? format_factor(*factor) : ""});
    }
    if (columns.limits) row.push_back(limit(r.ours));
    if (columns.limits && columns.peer) row.push_back(limit(r.peer));
    row.push_back(error(r.ours));
    if (columns.peer) row.push_back(error(r.peer));
    row.push_back(r.ours ? family_of(*r.ours) : "");
    return row;
}

Row head_row(const Columns& columns) {
    Row row{"layer", "mode", "tconv"};
    if (columns.peer) row.insert(row.end(), {"cuDNN", "speed-up"});
    if (columns.limits) row.emplace_back("limit");
    if (columns.limits && columns.peer) row.emplace_back("cuDNN");
    row.emplace_back("error");
    if (columns.peer) row.emplace_back("cuDNN");
    row.emplace_back("family");
    return row;
}

/// Results by how tconv did: slower ones (the slowest first), the others, and those without a comparison.
struct Parts {
    std::vector<const BenchResult*> slower, others, alone;
};

Parts parts_of(const BenchRun& run) {
    Parts parts;
    for (const BenchResult& result : run.results) {
        const std::optional<double> factor = speed_up(result);
        (factor ? (*factor < 1 ? parts.slower : parts.others) : parts.alone).push_back(&result);
    }
    std::stable_sort(parts.slower.begin(), parts.slower.end(),
                     [](const BenchResult* a, const BenchResult* b) { return *speed_up(*a) < *speed_up(*b); });
    return parts;
}

std::string results_table(const BenchRun& run) {
    const Parts parts = parts_of(run);
    const Columns columns = columns_of(run);
    std::vector<Row> rows{head_row(columns)};
    const auto add = [&](const char* title, const std::vector<const BenchResult*>& results) {
        if (results.empty()) return;
        if (columns.peer) rows.push_back({title});
        for (const BenchResult* result : results)
            rows.push_back(row_of(*result, columns));
    };
    add("slower than cuDNN", parts.slower);
    add("at least as fast", parts.others);
    add("not compared", parts.alone);
    const unsigned all_but_last = (1U << (rows.front().size() - 1)) - 1;
    return align_columns(rows, all_but_last & ~0b11U);
}

/// Geometric means over the results that both sides have; shares of the limit over those that have the side.
class Means {
public:
    void add(const BenchResult& r) {
        ++layers_;
        if (const auto factor = speed_up(r)) {
            ++compared_;
            speed_up_ += std::log(*factor);
            slower_ += *factor < 1 ? 1 : 0;
        }
        if (r.ours && r.limit_milliseconds > 0) ours_.add(share_of_limit(r, *r.ours));
        if (r.peer && r.limit_milliseconds > 0) peer_.add(share_of_limit(r, *r.peer));
    }

    [[nodiscard]] Row row(const std::string& group, const std::string& cell) const {
        return {group,
                cell,
                fmt::format("{}", layers_),
                compared_ > 0 ? format_factor(std::exp(speed_up_ / compared_)) : "",
                percent(ours_.mean()),
                percent(peer_.mean()),
                compared_ > 0 ? fmt::format("{}", slower_) : ""};
    }

private:
    struct Logs {
        double sum = 0;
        int count = 0;
        void add(double value) {
            sum += std::log(value);
            ++count;
        }
        [[nodiscard]] double mean() const { return count > 0 ? std::exp(sum / count) : 0; }
    };

    int layers_ = 0;
    int compared_ = 0;
    int slower_ = 0;
    double speed_up_ = 0;
    Logs ours_, peer_;
};

std::string means_table(const BenchRun& run) {
    std::vector<std::pair<std::pair<std::string, std::string>, Means>> tables;  // in order of appearance
    const auto table = [&](const std::string& group, const std::string& cell) -> Means& {
        const std::pair<std::string, std::string> name{group, cell};
        const auto found = std::find_if(tables.begin(), tables.end(), [&](const auto& t) { return t.first == name; });
        return found != tables.end() ? found->second : tables.emplace_back(name, Means()).second;
    };
    for (const BenchResult& result : run.results) {
        if (!result.group.empty()) table(result.group, cell_name(result)).add(result);
    }
    for (const BenchResult& result : run.results)
        table("all", cell_name(result)).add(result);
    std::vector<Row> rows{{"geometric means", "mode", "layers", "speed-up", "limit", "cuDNN", "slower"}};
    for (const auto& [name, means] : tables)
        rows.push_back(means.row(fmt::format("  {}", one_line(name.first)), name.second));
    return align_columns(rows, 0b1111100);
}

std::string ceilings_line(const Ceilings& c) {
    std::string text = fmt::format("copy {:.2f} TB/s, fp32 {:.1f} TFLOP/s", c.copy_bytes_per_second / 1e12,
                                   c.fma_flops_per_second / 1e12);
    if (c.tf32_flops_per_second > 0) text += fmt::format(", TF32 {:.0f}", c.tf32_flops_per_second / 1e12);
    if (c.bf16_flops_per_second > 0) text += fmt::format(", bf16 {:.0f}", c.bf16_flops_per_second / 1e12);
    return text + fmt::format(", empty launch {:.1f} us", 1000 * c.empty_launch_milliseconds);
}

std::string head(const BenchRun& run) {
    std::string text = fmt::format("{}; {}\n", one_line(run.device_key), one_line(run.started));
    text += fmt::format(
        "tconv {}, {}, driver {}{}, cuDNN {}\n", run.tconv_version, one_line(run.compiler_version),
        one_line(run.driver_version),
        run.driver_package.empty() ? "" : fmt::format(" ({})", one_line(run.driver_package)),
        run.peer_version.empty() ? fmt::format("none: {}", one_line(run.peer_reason)) : one_line(run.peer_version));
    if (run.weights_prepared) text += "weights are packed once, before the calls that are timed\n";
    if (run.emulated) return text + "times of the emulation: no GPU figures\n";
    return text + "ceilings: " + ceilings_line(run.ceilings) + "\n";
}

std::string remarks(const BenchRun& run) {
    std::string text;
    const auto add = [&](const std::string& subject, const std::string& sentence) {
        text += fmt::format("{}: {}\n", one_line(subject), one_line(sentence));
    };
    for (const BenchResult& r : run.results) {
        const std::string subject = fmt::format("{} {}", r.layer, cell_name(r));
        if (!r.ours && !r.ours_reason.empty()) add(subject, fmt::format("tconv: {}", r.ours_reason));
        if (!r.peer && !r.peer_reason.empty() && r.peer_reason != run.peer_reason)
            add(subject, fmt::format("cuDNN: {}", r.peer_reason));
        for (const std::string& warning : r.warnings)
            add(subject, fmt::format("warning: {}", warning));
    }
    for (const std::string& warning : run.warnings)
        add("warning", warning);
    return text;
}

std::vector<Row> change_rows(const std::vector<Change>& changes) {
    std::vector<Row> rows;
    for (const Change& c : changes) {
        rows.push_back({fmt::format("  {}", one_line(c.layer)),
                        fmt::format("{} {}", to_string(c.mode), to_string(parse_key(c.problem).layout)),
                        c.peer ? "cuDNN" : "tconv", format_milliseconds(c.old_milliseconds),
                        format_milliseconds(c.new_milliseconds),
                        fmt::format("{:+.1f} %", 100 * (c.new_milliseconds / c.old_milliseconds - 1)),
                        fmt::format("{:.1f} %", 100 * c.noise)});
    }
    return rows;
}

}  // namespace

std::string bench_report(const BenchRun& run) {
    std::string text = fmt::format("{}\n{}", head(run), results_table(run));
    if (!run.emulated) text += fmt::format("\n{}", means_table(run));
    const std::string notes = remarks(run);
    if (!notes.empty()) text += fmt::format("\n{}", notes);
    return text;
}

std::string comparison_report(const RunComparison& comparison, const BenchRun& before) {
    std::string text =
        fmt::format("compared with the run of {}: {} slower, {} faster, {} unchanged\n", one_line(before.started),
                    comparison.slower.size(), comparison.faster.size(), comparison.unchanged);
    std::vector<Row> rows{{"layer", "mode", "side", "before", "now", "change", "noise"}};
    const auto add = [&](const char* title, const std::vector<Change>& changes) {
        if (changes.empty()) return;
        rows.push_back({title});
        for (Row& row : change_rows(changes))
            rows.push_back(std::move(row));
    };
    add("slower", comparison.slower);
    add("faster", comparison.faster);
    if (rows.size() > 1) text += align_columns(rows, 0b1111000);
    if (!comparison.only_old.empty())
        text += fmt::format("no longer there: {}\n", one_line(fmt::format("{}", fmt::join(comparison.only_old, ", "))));
    if (!comparison.only_new.empty())
        text +=
            fmt::format("not there before: {}\n", one_line(fmt::format("{}", fmt::join(comparison.only_new, ", "))));
    for (const std::string& warning : comparison.warnings)
        text += fmt::format("warning: {}\n", one_line(warning));
    return text;
}

}  // namespace tconv
