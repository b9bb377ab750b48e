#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include <unistd.h>

#include "cache/code_store.hpp"
#include "cache/paths.hpp"
#include "core/error.hpp"
#include "device/nvrtc/nvrtc.hpp"
#include "tools/command.hpp"
#include "tools/format.hpp"
#include "tools/interrupt.hpp"
#include "tools/layer_choice.hpp"
#include "tools/targets.hpp"
#include "tools/values.hpp"
#include "tuner/precompile.hpp"

namespace tconv {
namespace {

constexpr std::int64_t k_most_trials = 1'000'000'000;
constexpr int k_most_threads = 1024;

struct CompileOptions {
    LayerChoice layers;
    std::string target;
    std::string trials = "60";
    std::string seed = "1";
    std::string threads = "0";
    std::optional<std::string> tolerance;
    bool strict = false;
    std::string database;
};

/// Shows how far a layer is: one updating line on a terminal, one line every few seconds elsewhere.
class CompileProgress {
public:
    void begin(const std::string& label, std::int64_t total) {
        label_ = label;
        total_ = total;
        printed_ = Clock::now();
    }
    void update(std::int64_t done) {
        constexpr double terminal_pause = 0.1;
        constexpr double log_pause = 10;
        if (seconds_since_print() < (terminal_ ? terminal_pause : log_pause)) return;
        printed_ = Clock::now();
        std::fputs(fmt::format("{}{}: {} of {} candidates{}", terminal_ ? "\r\x1b[K" : "", label_, done, total_,
                               terminal_ ? "" : "\n")
                       .c_str(),
                   stderr);
        std::fflush(stderr);
    }
    void end() const {
        if (terminal_) std::fputs("\r\x1b[K", stderr);
    }

private:
    using Clock = std::chrono::steady_clock;
    [[nodiscard]] double seconds_since_print() const {
        return std::chrono::duration<double>(Clock::now() - printed_).count();
    }

    bool terminal_ = ::isatty(STDERR_FILENO) != 0;
    std::string label_;
    std::int64_t total_ = 0;
    Clock::time_point printed_;
};

std::unique_ptr<Compiler> open_compiler() {
    if (const NvrtcStatus status = nvrtc_status(); !status.available)
        throw Error(ErrorKind::bad_input, fmt::format("compile needs NVRTC: {}", status.reason));
    return make_nvrtc_compiler();
}

std::filesystem::path code_folder() {
    if (const auto folder = lasting_code_directory()) return *folder;
    throw Error(ErrorKind::cache, "no folder can keep compiled code (see TCONV_CACHE)");
}

/// The stored trials, where there are any; a database named with --database must be there.
std::optional<Database> stored_trials(const std::string& path) {
    std::error_code error;
    if (!path.empty()) return Database(path, OpenMode::read_only);
    const std::filesystem::path own = default_database_path();
    if (!std::filesystem::exists(own, error)) return std::nullopt;
    return Database(own, OpenMode::read_only);
}

std::vector<std::string> row_of(const std::string& name, const PrecompileResult& result) {
    return {name,
            fmt::format("{}", result.candidates),
            fmt::format("{}", result.compiled),
            fmt::format("{}", result.found),
            fmt::format("{}", result.refused),
            fmt::format("{:.1f}", result.seconds)};
}

void add(PrecompileResult& total, const PrecompileResult& part) {
    total.candidates += part.candidates;
    total.compiled += part.compiled;
    total.found += part.found;
    total.refused += part.refused;
    total.seconds += part.seconds;
}

void print_cache_size(const std::filesystem::path& folder) {
    double bytes = 0;
    const CodeStore store(folder);
    const std::vector<std::string> keys = store.keys("cubin");
    for (const std::string& key : keys) {
        std::error_code error;
        const auto size = std::filesystem::file_size(store.path_of(key, "cubin"), error);
        if (!error) bytes += static_cast<double>(size);
    }
    fmt::print("the code cache {} holds {} kernels, {}\n", one_line(folder.string()), keys.size(), format_bytes(bytes));
}

/// Compiles layer after layer. Among several, one that no family takes costs only itself. Gives back whether all were
/// taken.
bool compile_all(Precompiler& precompiler, const std::vector<Layer>& layers, PrecompileRequest request,
                 const InterruptWatch& watch) {
    std::vector<std::vector<std::string>> rows{
        {"layer", "candidates", "compiled now", "found already", "refused", "seconds"}};
    PrecompileResult total = precompiler.compile_fixed();
    rows.push_back(row_of("(fixed kernels)", total));
    CompileProgress progress;
    bool all_taken = true;
    for (const Layer& layer : layers) {
        if (watch.interrupted()) break;
        request.problem = layer.problem;
        progress.begin(layer.name.empty() ? key(layer.problem) : layer.name, request.candidates);
        try {
            const PrecompileResult result = precompiler.compile(
                request, [&](std::int64_t done) { progress.update(done); }, watch.token());
            progress.end();
            rows.push_back(row_of(layer.name.empty() ? key(layer.problem) : layer.name, result));
            add(total, result);
            for (const std::string& warning : result.warnings)
                std::fputs(("tconv: warning: " + one_line(warning) + "\n").c_str(), stderr);
        } catch (const Error& error) {
            if (layers.size() == 1) throw;
            progress.end();
            std::fputs(fmt::format("tconv: {}: {}\n", layer.name, one_line(error.what())).c_str(), stderr);
            all_taken = false;
        }
    }
    rows.push_back(row_of("together", total));
    fmt::print("{}", align_columns(rows, 0b111110));
    return all_taken;
}

int run_compile(const CompileOptions& options) {
    const std::vector<Layer> layers = chosen_layers(options.layers);
    PrecompileRequest request;
    if (options.tolerance) request.tolerance = parse_tolerance("--tolerance", *options.tolerance);
    request.strict = options.strict;
    request.candidates = parse_integer("--trials", options.trials, 1, k_most_trials);
    request.seed = parse_seed("--seed", options.seed);
    const auto threads = static_cast<int>(parse_integer("--threads", options.threads, 0, k_most_threads));
    const Target target = find_target(options.target);
    const std::unique_ptr<Compiler> compiler = open_compiler();
    const std::filesystem::path folder = code_folder();
    std::optional<Database> database = stored_trials(options.database);
    const std::vector<SearchSpace> spaces = load_search_spaces();

    const InterruptWatch watch;
    Precompiler precompiler(*compiler, target.info, spaces, database ? &*database : nullptr, threads);
    std::fputs(fmt::format("compiling for {} ({}) with {}; seed {}\n", one_line(target.info.name),
                           architecture_of(target.info), compiler->version(), options.seed)
                   .c_str(),
               stderr);
    const bool all_taken = compile_all(precompiler, layers, request, watch);
    print_cache_size(folder);
    if (watch.interrupted()) return k_exit_interrupted;
    return all_taken ? k_exit_ok : k_exit_failed;
}

}  // namespace

void add_compile_command(CLI::App& app, int& exit_code) {
    CLI::App* command =
        app.add_subcommand("compile", "Compile a session's candidates ahead, on a machine without a GPU");
    const auto options = std::make_shared<CompileOptions>();
    add_layer_options(*command, options->layers);
    add_type_options(*command, options->layers.problem);
    const auto add = [&](const char* flag, auto& value, const char* form, const char* help) {
        return command->add_option(flag, value, help)->type_name(form)->group("Search");
    };
    add("--target", options->target, "NAME|FILE",
        "The device to compile for: a name or part of one (tconv devices --targets), or a description")
        ->required();
    add("--trials", options->trials, "N", "Candidates a problem at most, beside the stored trials (default 60)");
    add("--seed", options->seed, "S", "Seed that tune will get (default 1)");
    add("--tolerance", options->tolerance, "X", "Tolerance that tune will get (default: the type's own)");
    command->add_flag("--strict", options->strict, "Tune will get --strict: plain fp32 arithmetic alone")
        ->group("Search");
    add("--threads", options->threads, "N", "Compilations at a time (default 0: one per processor)");
    add_database_option(*command, options->database);
    command->callback([options, &exit_code] { exit_code = run_compile(*options); });
}

}  // namespace tconv
