#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "core/error.hpp"
#include "device/emulator/emulator.hpp"
#include "device/nvrtc/nvrtc.hpp"
#include "tools/command.hpp"
#include "tools/device_choice.hpp"
#include "tools/format.hpp"
#include "tuner/workers/serve.hpp"

namespace tconv {
namespace {

struct WorkerOptions {
    std::string device;
    std::string compiler;
    std::string device_memory_limit;  ///< MiB; empty: the default
};

WorkerTools open_tools(const WorkerOptions& options) {
    if (!options.device.empty()) {
        const DeviceChoice choice = choose_device(options.device);
        OpenedDevice opened = open_device(choice);
        limit_device_memory(*opened.device, parse_device_memory_limit(options.device_memory_limit));
        return {std::move(opened.device), std::move(opened.compiler), disturbance_watch(choice)};
    }
    if (options.compiler == k_nvrtc_compiler) return {nullptr, make_nvrtc_compiler(), {}};
    if (options.compiler == k_host_compiler) return {nullptr, make_host_compiler(), {}};
    throw Error(ErrorKind::bad_input, fmt::format("--compiler ({}) must be {} or {}", shown(options.compiler),
                                                  k_nvrtc_compiler, k_host_compiler));
}

}  // namespace

void add_worker_command(CLI::App& app) {
    CLI::App* command = app.add_subcommand("worker", "Serve another tconv on standard input and output");
    command->group("");  // for the command itself, not for people
    const auto options = std::make_shared<WorkerOptions>();
    command->add_option("--device", options->device, "Run candidates on this device")->type_name("cuda:N|emulator");
    command->add_option("--compiler", options->compiler, "Only compile, with this compiler")->type_name("nvrtc|host");
    command->add_option("--device-memory-limit", options->device_memory_limit, "Device memory that may be taken")
        ->type_name("MIB");
    command->callback([options] {
        if (::isatty(STDIN_FILENO) != 0 || ::isatty(STDOUT_FILENO) != 0) {
            throw Error(ErrorKind::bad_input,
                        "tconv worker serves another tconv on its standard input and output, which a terminal cannot "
                        "be: it must be started by tconv tune");
        }
        serve_worker([options] { return open_tools(*options); }, end_host_compilations);
    });
}

}  // namespace tconv
