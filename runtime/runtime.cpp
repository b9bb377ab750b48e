#include "runtime/runtime.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "runtime/kernel.hpp"
#include "runtime/ladder.hpp"
#include "runtime/open_device.hpp"

namespace tconv {

const char* to_string(Rung rung) {
    switch (rung) {
        case Rung::exact:
            return "exact";
        case Rung::other_batch:
            return "other_batch";
        case Rung::reference:
            return "reference";
    }
    return "unknown";
}

struct Runtime::Impl {
    explicit Impl(const RuntimeOptions& options)
        : device(std::make_shared<SharedDevice>(open_device(options.device))), ladder(device, options.database) {}

    /// What `fetch` returned before for the same, else what the ladder finds now.
    std::shared_ptr<const LoadedKernel> find(const Problem& problem, double tolerance, Math math) {
        const std::tuple wanted(key(problem), tolerance, math);
        {
            const std::lock_guard lock(mutex);
            if (const auto known = kernels.find(wanted); known != kernels.end()) return known->second;
        }
        // Compiling and loading hold no lock; the loser of a race takes the winner's kernel.
        std::shared_ptr<const LoadedKernel> found = ladder.climb(problem, tolerance, math == Math::strict);
        const std::lock_guard lock(mutex);
        return kernels.try_emplace(wanted, std::move(found)).first->second;
    }

    std::shared_ptr<SharedDevice> device;
    Ladder ladder;
    std::mutex mutex;
    std::map<std::tuple<std::string, double, Math>, std::shared_ptr<const LoadedKernel>> kernels;
};

Runtime::Runtime(const RuntimeOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Runtime::Runtime(Runtime&&) noexcept = default;
Runtime& Runtime::operator=(Runtime&&) noexcept = default;
Runtime::~Runtime() = default;

Kernel Runtime::fetch(const Problem& problem, double tolerance, Math math) const {
    validate(problem);
    if (problem.batch > std::numeric_limits<std::int32_t>::max())
        throw Error(ErrorKind::bad_input, fmt::format("batch ({}) must be at most 2147483647", problem.batch));
    if (std::isnan(tolerance)) throw Error(ErrorKind::bad_input, "tolerance (nan) must be a number");
    if (tolerance < 0) tolerance = default_tolerance(problem.dtype);
    auto loaded = problem.batch == 0 ? empty_kernel() : impl_->find(problem, tolerance, math);
    return Kernel(std::make_unique<Kernel::Impl>(Kernel::Impl{problem, std::move(loaded)}));
}

std::string Runtime::device() const {
    return device_key(impl_->device->info());
}

bool Runtime::emulated() const {
    return impl_->device->emulated();
}

}  // namespace tconv
