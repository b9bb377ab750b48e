#include "runtime/ladder.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "cache/paths.hpp"
#include "core/error.hpp"
#include "device/emulator/emulator.hpp"
#include "kernel_sources/reference.hpp"
#include "kernel_sources/sources.hpp"
#include "runtime/plan_safety.hpp"
#include "runtime/reference_code.hpp"

namespace tconv {
namespace {

void add_warning(std::string& warnings, const std::string& sentence) {
    if (!warnings.empty()) warnings += ' ';
    warnings += sentence;
    if (warnings.back() != '.') warnings += '.';
}

/// The emulator's code is compiled here from the embedded sources: host code never comes out of a database.
CompiledCode compile_for_host(const std::string& name, const std::string& source, std::vector<std::string> kernels) {
    CompileRequest request;
    request.name = name;
    request.source = source;
    request.kernels = std::move(kernels);
    const CompileResult result = make_host_compiler()->compile(request);
    if (!result.ok)
        throw Error(ErrorKind::compile, fmt::format("{} does not compile for the emulator: {}", name, result.log));
    return result.code;
}

CompiledCode code_of(const Winner& winner, const Problem& problem, const SharedDevice& device) {
    if (!device.emulated()) return {winner.binary};
    const LaunchPlan& plan = winner.trial.outcome.plan;
    return compile_for_host(plan.source_file, specialise(plan, problem, winner.trial.config), kernel_names(plan));
}

std::shared_ptr<Module> load(const SharedDevice& device, const CompiledCode& code) {
    const auto lock = device.lock();
    return device.device().load(code);
}

std::string describe(const Trial& trial, const Problem& problem, const SharedDevice& device) {
    const Outcome& outcome = trial.outcome;
    const std::int64_t alignment = outcome.plan.alignment;
    const bool choosy = alignment > size_in_bytes(problem.dtype);
    return fmt::format("{} {}, {:.4g} ms when tuned{}, error {:.1e}{}{}", trial.template_name, to_string(trial.config),
                       outcome.timing.median, device.emulated() ? " (emulated)" : "", outcome.error.relative,
                       choosy ? fmt::format(", for tensors aligned to {} bytes", alignment) : std::string(),
                       is_stale(trial) ? ", stale: its template has changed since" : "");
}

}  // namespace

LoadedKernel::~LoadedKernel() {
    if (device == nullptr) return;
    const auto lock = device->lock();
    module.reset();
}

Ladder::Ladder(std::shared_ptr<SharedDevice> device, const std::string& database) : device_(std::move(device)) {
    try {
        open_database(database);
    } catch (const std::exception& error) {
        add_warning(database_warning_, error.what());
    }
}

void Ladder::open_database(const std::string& database) {
    const std::filesystem::path path = database.empty() ? default_database_path() : std::filesystem::path(database);
    std::error_code error;
    if (!std::filesystem::exists(path, error) && !error) {
        // Nothing tuned yet is normal at the default path; a path that the caller names may be a slip.
        if (!database.empty()) add_warning(database_warning_, fmt::format("There is no database {}", path.string()));
        return;
    }
    database_.emplace(path, OpenMode::read_only);
}

std::shared_ptr<const LoadedKernel> Ladder::climb(const Problem& problem, double tolerance, bool strict) {
    std::string warnings = database_warning_;
    std::shared_ptr<LoadedKernel> found;
    for (const Rung rung : {Rung::exact, Rung::other_batch}) {
        if (found == nullptr) found = from_database(rung, problem, tolerance, strict, warnings);
    }
    if (found == nullptr) found = reference(problem);
    found->warnings = warnings;
    if (found->rung != Rung::exact) note_request(problem, tolerance);
    return found;
}

std::optional<Winner> Ladder::query(Rung rung, const Problem& problem, double tolerance, bool strict,
                                    std::string& warnings) {
    const std::lock_guard lock(database_mutex_);
    if (!database_) return std::nullopt;
    std::optional<Winner> found = rung == Rung::exact
                                      ? database_->winner(problem, device_->info(), tolerance, strict)
                                      : database_->winner_of_other_batch(problem, device_->info(), tolerance, strict);
    for (const std::string& warning : database_->take_warnings())
        add_warning(warnings, warning);
    return found;
}

std::shared_ptr<LoadedKernel> Ladder::from_database(Rung rung, const Problem& problem, double tolerance, bool strict,
                                                    std::string& warnings) {
    try {
        const std::optional<Winner> winner = query(rung, problem, tolerance, strict, warnings);
        if (!winner) return nullptr;
        std::shared_ptr<LoadedKernel> loaded = load_winner(*winner, problem);
        loaded->rung = rung;
        return loaded;
    } catch (const std::exception& error) {
        add_warning(warnings, fmt::format("The stored winner for {} is passed over: {}", key(problem), error.what()));
        return nullptr;
    }
}

std::shared_ptr<LoadedKernel> Ladder::load_winner(const Winner& winner, const Problem& problem) {
    const Trial& trial = winner.trial;
    check_stored(trial, problem, device_->info());
    if (device_->emulated() && is_stale(trial)) {
        throw Error(ErrorKind::not_found, fmt::format("it is stale: {} has changed since (hash {} then, {} now)",
                                                      trial.outcome.plan.source_file, trial.template_hash,
                                                      template_hash(trial.outcome.plan.source_file)));
    }
    auto loaded = std::make_shared<LoadedKernel>();
    loaded->device = device_;
    loaded->module = load(*device_, code_of(winner, problem, *device_));
    loaded->plan = trial.outcome.plan;
    loaded->description = describe(trial, problem, *device_);
    loaded->for_unaligned = for_unaligned(loaded->plan, problem);
    // An entry that the machine code lacks shows now and not at the first launch.
    const auto lock = device_->lock();
    for (const Launch& launch : loaded->plan.launches) {
        (void)device_->device().resources(*loaded->module, launch.kernel,
                                          {launch.grid, launch.block, launch.shared_bytes});
    }
    return loaded;
}

std::shared_ptr<LoadedKernel> Ladder::reference(const Problem& problem) {
    auto loaded = std::make_shared<LoadedKernel>();
    loaded->device = device_;
    loaded->plan = reference_plan(problem);
    check_plan(loaded->plan, problem, device_->info());
    loaded->module = reference_module();
    loaded->rung = Rung::reference;
    loaded->description = "the reference kernel: never tuned on this device";
    return loaded;
}

std::shared_ptr<const LoadedKernel> Ladder::for_unaligned(const LaunchPlan& plan, const Problem& problem) {
    if (plan.alignment <= size_in_bytes(problem.dtype)) return nullptr;
    try {
        return reference(problem);
    } catch (const Error&) {
        return nullptr;  // aligned tensors can still be served
    }
}

std::shared_ptr<Module> Ladder::reference_module() {
    const std::lock_guard lock(reference_mutex_);
    if (reference_module_ == nullptr) {
        CompiledCode code;
        if (device_->emulated()) {
            code = compile_for_host(
                k_reference_file, expand_includes(k_reference_file),
                {reference_entry(DataType::f32), reference_entry(DataType::f16), reference_entry(DataType::bf16)});
        } else {
            code.code = reference_code(device_->info());
        }
        reference_module_ = load(*device_, code);
    }
    return reference_module_;
}

void Ladder::note_request(const Problem& problem, double tolerance) noexcept {
    // Only a database that is there and sound: the run-time path makes none.
    if (!database_) return;
    try {
        Database(database_->path(), OpenMode::read_write).note_request(device_->info(), problem, tolerance);
    } catch (const std::exception&) {
        // A list of wishes is not worth an error.
    }
}

}  // namespace tconv
