#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/session.hpp"
#include "tools/layer_choice.hpp"

namespace tconv {

/// The flags of `tconv bench`, as typed.
struct BenchOptions {
    LayerChoice layers;
    std::string modes = "fp32";
    std::string layouts = "nchw";
    std::string device = "auto";
    std::string cudnn;                     ///< path of the library; "none": leave the peer out
    std::string cudnn_workspace = "1024";  ///< MiB that one of its plans may ask for
    std::vector<std::string> cudnn_known;  ///< runs whose fastest engines are the only ones to be built
    std::string tune_time = "10s";
    std::string weights = "each-call";  ///< or "prepared"
    std::string seed = "1";
    std::string database;
    std::optional<std::string> json;     ///< file to write the run to
    std::optional<std::string> from;     ///< file to take a run from instead of measuring
    std::optional<std::string> compare;  ///< file of an older run
};

/// Declares the flags on a subcommand; `options` must outlive it.
void add_bench_options(CLI::App& command, BenchOptions& options);

/// What --weights says. Throws Error(bad_input).
[[nodiscard]] bool weights_prepared(const BenchOptions& options);

/// Every layer in every layout and mode asked for, in the order in which they share most work. Throws Error(bad_input).
[[nodiscard]] std::vector<BenchCell> make_cells(const BenchOptions& options);

}  // namespace tconv
