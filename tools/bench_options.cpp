#include "tools/bench_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core/error.hpp"
#include "tools/command.hpp"

namespace tconv {
namespace {

/// The items of a list separated by commas, each once.
template <class Value, class Parse>
std::vector<Value> parse_list(const std::string& text, const Parse& parse) {
    std::vector<Value> values;
    std::string_view rest = text;
    for (;;) {
        const std::size_t end = rest.find(',');
        const Value value = parse(rest.substr(0, end));
        if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
        if (end == std::string_view::npos) return values;
        rest.remove_prefix(end + 1);
    }
}

std::vector<Mode> parse_modes(const std::string& text) {
    return text == "all" ? all_modes() : parse_list<Mode>(text, parse_mode);
}

std::vector<Layout> parse_layouts(const std::string& text) {
    return text == "all" ? std::vector<Layout>{Layout::nchw, Layout::nhwc} : parse_list<Layout>(text, parse_layout);
}

}  // namespace

void add_bench_options(CLI::App& command, BenchOptions& options) {
    add_layer_options(command, options.layers);
    const auto add = [&](const char* group, const char* flag, auto& value, const char* form, const char* help) {
        command.add_option(flag, value, help)->type_name(form)->group(group);
    };
    add("Problem", "--modes", options.modes, "all|strict,fp32,tf32,fp16,bf16",
        "Precision classes to compare in (default fp32: of that accuracy, by any arithmetic)");
    add("Problem", "--layouts", options.layouts, "all|nchw,nhwc", "Memory orders to compare in (default nchw)");
    add("Measuring", "--device", options.device, "auto|cuda:N|emulator",
        "Where to run; auto: the first CUDA device, else the emulator (default auto)");
    add("Measuring", "--cudnn", options.cudnn, "PATH|none",
        "cuDNN's library or its folder (default: TCONV_CUDNN, else the loader's libcudnn.so.9)");
    add("Measuring", "--cudnn-workspace", options.cudnn_workspace, "MIB",
        "Workspace in MiB that cuDNN's engines may ask for (default 1024)");
    command
        .add_option("--cudnn-known", options.cudnn_known,
                    "Runs written with --json: of the problems in them only cuDNN's fastest engines are built")
        ->type_name("FILE,FILE")
        ->delimiter(',')
        ->group("Measuring");
    add("Measuring", "--tune-time", options.tune_time, "TIME",
        "Time to tune a problem that has no winner yet; 0: none is tuned (default 10s)");
    add("Measuring", "--weights", options.weights, "each-call|prepared",
        "Whether tconv packs weights in each call that is timed or once before them (default each-call)");
    add("Measuring", "--seed", options.seed, "S", "Seed of the inputs and of tuning (default 1)");
    add_database_option(command, options.database);
    add("Output", "--json", options.json, "FILE", "Also write the run, with all samples, to a file");
    add("Output", "--from", options.from, "FILE", "Show a run that was written with --json instead of measuring");
    add("Output", "--compare", options.compare, "FILE", "Say what is slower or faster than in that older run");
}

bool weights_prepared(const BenchOptions& options) {
    if (options.weights != "each-call" && options.weights != "prepared")
        throw Error(ErrorKind::bad_input, fmt::format("--weights ({}) must be each-call or prepared", options.weights));
    return options.weights == "prepared";
}

std::vector<BenchCell> make_cells(const BenchOptions& options) {
    const std::vector<Mode> modes = parse_modes(options.modes);
    const std::vector<Layout> layouts = parse_layouts(options.layouts);
    std::vector<BenchCell> cells;
    for (const Layer& layer : chosen_layers(options.layers)) {
        for (const Layout layout : layouts) {
            for (const Mode mode : modes) {
                BenchCell cell{layer.name.empty() ? "problem" : layer.name, layer.group, layer.problem, mode};
                cell.problem.layout = layout;
                cell.problem.dtype = data_type_of(mode);
                cells.push_back(std::move(cell));
            }
        }
    }
    return cells;
}

}  // namespace tconv
