#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cache/database.hpp"
#include "core/launch_plan.hpp"
#include "core/problem.hpp"
#include "runtime/open_device.hpp"
#include "runtime/runtime.hpp"

namespace tconv {

/// What a fetch found: code on its device and how to launch it. Shared by all kernels fetched for one problem.
struct LoadedKernel {
    std::shared_ptr<SharedDevice> device;
    std::shared_ptr<Module> module;
    LaunchPlan plan;
    Rung rung = Rung::reference;
    std::string description;
    std::string warnings;
    /// What serves tensors less aligned than the plan asks for; null where it takes all or no reference kernel is here.
    std::shared_ptr<const LoadedKernel> for_unaligned;

    LoadedKernel() = default;
    LoadedKernel(const LoadedKernel&) = delete;
    LoadedKernel& operator=(const LoadedKernel&) = delete;
    /// Unloads the module with the device's lock held, before the device goes.
    ~LoadedKernel();
};

/// Looks for a problem's kernel: exact -> same but for batch -> reference. Safe from several threads.
class Ladder {
public:
    /// `database` empty: the default path. A database that cannot be read becomes a warning of every fetch.
    Ladder(std::shared_ptr<SharedDevice> device, const std::string& database);

    /// `problem` is valid with a batch of 1 or more. `strict`: of kernels in plain fp32 arithmetic alone. Throws Error
    /// when not even the reference kernel can be had.
    [[nodiscard]] std::shared_ptr<const LoadedKernel> climb(const Problem& problem, double tolerance, bool strict);

private:
    void open_database(const std::string& database);
    [[nodiscard]] std::optional<Winner> query(Rung rung, const Problem& problem, double tolerance, bool strict,
                                              std::string& warnings);
    [[nodiscard]] std::shared_ptr<LoadedKernel> from_database(Rung rung, const Problem& problem, double tolerance,
                                                              bool strict, std::string& warnings);
    [[nodiscard]] std::shared_ptr<LoadedKernel> load_winner(const Winner& winner, const Problem& problem);
    [[nodiscard]] std::shared_ptr<LoadedKernel> reference(const Problem& problem);
    [[nodiscard]] std::shared_ptr<const LoadedKernel> for_unaligned(const LaunchPlan& plan, const Problem& problem);
    [[nodiscard]] std::shared_ptr<Module> reference_module();
    void note_request(const Problem& problem, double tolerance) noexcept;

    std::shared_ptr<SharedDevice> device_;
    std::mutex database_mutex_;
    std::optional<Database> database_;
    std::string database_warning_;
    std::mutex reference_mutex_;
    std::shared_ptr<Module> reference_module_;
};

}  // namespace tconv
