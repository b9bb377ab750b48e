#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cache/database.hpp"
#include "cache/paths.hpp"
#include "core/error.hpp"
#include "device/driver/driver.hpp"
#include "device/emulator/emulator.hpp"
#include "device/nvrtc/nvrtc.hpp"
#include "tools/command.hpp"
#include "tools/device_choice.hpp"
#include "tools/format.hpp"
#include "tools/targets.hpp"

namespace tconv {
namespace {

void print_status(const char* what, bool available, const std::string& found, const std::string& reason) {
    fmt::print("{:<14}{}\n", what, available ? "found: " + one_line(found) : "missing: " + one_line(reason));
}

std::string version_and_path(const std::string& version, const std::string& path) {
    return path.empty() ? version : fmt::format("{} ({})", version, path);
}

void print_device(const std::string& id, const DeviceInfo& d) {
    fmt::print("{:<14}{}\n", id, device_key(d));
    fmt::print("{:<14}{} threads a block at most, warps of {}, {} registers a multiprocessor\n", "",
               d.max_threads_per_block, d.warp_size, d.registers_per_multiprocessor);
    fmt::print("{:<14}shared memory {} a block, {} a multiprocessor\n", "",
               format_bytes(static_cast<double>(d.shared_memory_per_block)),
               format_bytes(static_cast<double>(d.shared_memory_per_multiprocessor)));
    if (d.kind == DeviceKind::cuda) {
        fmt::print("{:<14}memory {}, L2 cache {}, driver {}\n", "", format_bytes(static_cast<double>(d.memory_bytes)),
                   format_bytes(static_cast<double>(d.l2_bytes)), d.driver_version);
    } else {
        fmt::print("{:<14}runs the kernels on this CPU; its times are no GPU figures\n", "");
    }
}

void run_devices() {
    const DriverStatus driver = driver_status();
    const NvrtcStatus nvrtc = nvrtc_status();
    const HostCompilerStatus host = host_compiler_status();
    print_status(
        "CUDA driver", driver.available,
        fmt::format("{}, {} device{}", driver.version, driver.devices.size(), driver.devices.size() == 1 ? "" : "s"),
        driver.reason);
    print_status("NVRTC", nvrtc.available, version_and_path(nvrtc.version, nvrtc.path), nvrtc.reason);
    print_status("C++ compiler", host.available, version_and_path(host.version, host.path), host.reason);
    print_status("emulator", host.available, "part of this program", "it needs a C++ compiler");
    fmt::print("\n");
    for (std::size_t ordinal = 0; ordinal < driver.devices.size(); ++ordinal)
        print_device(fmt::format("cuda:{}", ordinal), driver.devices[ordinal]);
    print_device("emulator", make_emulator()->info());
    fmt::print("\n--device auto: {}\n", one_line(choose_device("auto").reason));
}

/// The devices that a kernel can be compiled for without being here.
void run_targets() {
    std::vector<std::vector<std::string>> rows{{"target", "cc", "multiprocessors", "shared a block", "L2", "memory"}};
    for (const Target& target : load_targets()) {
        const DeviceInfo& d = target.info;
        rows.push_back(
            {one_line(d.name), fmt::format("{}.{}", d.compute_major, d.compute_minor),
             fmt::format("{}", d.multiprocessors), format_bytes(static_cast<double>(d.shared_memory_per_block)),
             format_bytes(static_cast<double>(d.l2_bytes)), format_bytes(static_cast<double>(d.memory_bytes))});
    }
    fmt::print("{}", align_columns(rows, 0b111110));
}

/// Rates that were measured on the device, where a database holds them. One named with --database must be sound.
Ceilings known_rates(const DeviceInfo& device, const std::string& database) {
    if (!database.empty())
        return Database(database, OpenMode::read_only).ceilings(device_key(device)).value_or(Ceilings{});
    try {
        return Database(default_database_path(), OpenMode::read_only).ceilings(device_key(device)).value_or(Ceilings{});
    } catch (const Error&) {
        return {};  // the description is whole without them
    }
}

struct DevicesOptions {
    std::string describe;
    std::string database;
    bool targets = false;
};

void run(const DevicesOptions& options) {
    if (options.targets) return run_targets();
    if (options.describe.empty()) return run_devices();
    const DeviceInfo device = cuda_device_facts("--describe", options.describe);
    fmt::print("{}", describe_target({device, known_rates(device, options.database)}));
}

}  // namespace

void add_devices_command(CLI::App& app) {
    CLI::App* command = app.add_subcommand("devices", "Show which devices there are, and what is missing and why");
    const auto options = std::make_shared<DevicesOptions>();
    auto* describe = command->add_option("--describe", options->describe,
                                         "Print a device's description, for tconv compile --target elsewhere");
    describe->type_name("cuda:N");
    command->add_flag("--targets", options->targets, "List the devices that tconv compile --target knows by name")
        ->excludes(describe);
    add_database_option(*command, options->database);
    command->callback([options] { run(*options); });
}

}  // namespace tconv
