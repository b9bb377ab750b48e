#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/config.hpp"
#include "core/device_info.hpp"
#include "core/outcome.hpp"
#include "core/problem.hpp"

namespace tconv {

/// One evaluated candidate as stored: what was tried, where, and how it ended.
struct Trial {
    std::int64_t id = 0;  ///< set by the database
    Problem problem;
    std::string problem_name;   ///< the layer's name where it has one, for people
    std::string template_name;  ///< family: "direct"
    std::string template_hash;
    Config config;
    bool strict = true;  ///< plain fp32 arithmetic (or better) alone
    double reach = 0;    ///< tolerance of the session that measured it, 0 where that was strict: how far it searched
    Outcome outcome;
    std::string driver_version;
    std::string compiler_version;
    std::string created;  ///< UTC, ISO 8601; set by the database
};

/// The fastest valid trial and its machine code.
struct Winner {
    Trial trial;
    std::string binary;  ///< machine code, decompressed and checked against its key; empty on the emulator
};

/// One line of `tconv cache list`.
struct ProblemSummary {
    Problem problem;
    std::string problem_name;
    std::string device;  ///< device key
    std::int64_t trials = 0;
    std::int64_t valid = 0;
    std::optional<double> best_median;  ///< milliseconds
    double best_error = 0;
    std::string best_template;
    std::string updated;
};

/// Measured ceilings of a device. A multiply-add counts as two operations.
struct Ceilings {
    double copy_bytes_per_second = 0;  ///< bytes read plus written by a large copy
    double fma_flops_per_second = 0;   ///< fp32
    double empty_launch_milliseconds = 0;
    double tf32_flops_per_second = 0;  ///< dense matrix products on the tensor cores; 0: not measured
    double bf16_flops_per_second = 0;  ///< the same; fp16 has this rate too
};

/// Calls `visit(name, member)` for every field, in the order in which documents hold them.
template <class C, class Visitor>
void visit_ceilings(C& ceilings, Visitor&& visit) {
    visit("copy_bytes_per_second", ceilings.copy_bytes_per_second);
    visit("fma_flops_per_second", ceilings.fma_flops_per_second);
    visit("tf32_flops_per_second", ceilings.tf32_flops_per_second);
    visit("bf16_flops_per_second", ceilings.bf16_flops_per_second);
    visit("empty_launch_milliseconds", ceilings.empty_launch_milliseconds);
}

enum class OpenMode {
    read_write,  ///< made where absent
    read_only,   ///< never creates or changes anything; immutable where its folder cannot be written
};

/// The SQLite database of trials and winners. Safe for several processes at once; each object for one thread at a time.
/// Every function throws Error(cache) with the path and the reason; a write either happens whole or not at all.
class Database {
public:
    /// Throws Error(cache): cannot be opened, not a tconv database, damaged, or written by a newer version (naming
    /// both).
    Database(const std::filesystem::path& path, OpenMode mode);
    Database(Database&&) noexcept;
    Database& operator=(Database&&) noexcept;
    ~Database();

    [[nodiscard]] const std::filesystem::path& path() const;

    /// Stores one trial in one transaction; a trial of the same problem, device, template hash and config is replaced,
    /// and its machine code removed unless another trial names it.
    /// `binary` (may be empty) is stored compressed under outcome.binary_key. Returns the row's id.
    std::int64_t record(const DeviceInfo& device, const Trial& trial, const std::string& binary);

    /// Whether the machine code that trials name by `key` is there and whole.
    [[nodiscard]] bool has_machine_code(const std::string& key) const;

    /// Trials of one problem and device, oldest first; only those of `template_hash` unless it is empty.
    [[nodiscard]] std::vector<Trial> trials(const Problem& problem, const std::string& device_key,
                                            const std::string& template_name = {},
                                            const std::string& template_hash = {}) const;

    /// Shows `visit` the valid trials of a template's other versions than `template_hash`, within `tolerance` and
    /// strict where that is asked, the fastest first (a single sample's time counts as any), until it returns false.
    /// Damaged rows are passed over.
    void visit_former_trials(const Problem& problem, const std::string& device_key, const std::string& template_name,
                             const std::string& template_hash, double tolerance, bool strict,
                             const std::function<bool(Trial)>& visit) const;

    /// The fastest valid trial within `tolerance` that can be launched: with machine code unless `device` is an
    /// emulator. Of strict trials alone where that is asked. Damaged rows are passed over.
    [[nodiscard]] std::optional<Winner> winner(const Problem& problem, const DeviceInfo& device, double tolerance,
                                               bool strict = false) const;

    /// The same, for the problem that differs from `problem` in its batch alone (nearest batch first).
    [[nodiscard]] std::optional<Winner> winner_of_other_batch(const Problem& problem, const DeviceInfo& device,
                                                              double tolerance, bool strict = false) const;

    /// One row a problem and device, most recent first.
    [[nodiscard]] std::vector<ProblemSummary> list() const;

    /// Problems whose key or name is `text`.
    [[nodiscard]] std::vector<Problem> find_problems(const std::string& text) const;

    void store_ceilings(const DeviceInfo& device, const Ceilings& ceilings);
    [[nodiscard]] std::optional<Ceilings> ceilings(const std::string& device_key) const;

    /// Notes that a program asked for a problem that had no exact winner. Never throws: a database that cannot be
    /// written is left alone.
    void note_request(const DeviceInfo& device, const Problem& problem, double tolerance) noexcept;

    /// One sentence for each damaged row that was passed over since the last call (the first few of them).
    [[nodiscard]] std::vector<std::string> take_warnings();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tconv
