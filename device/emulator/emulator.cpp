#include "device/emulator/emulator.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "core/error.hpp"
#include "device/emulator/cluster_runner.hpp"
#include "device/emulator/launch_check.hpp"
#include "device/emulator/loaded_code.hpp"
#include "device/emulator/random_order.hpp"
#include "device/emulator/sanitizer.hpp"
#include "device/emulator/worker_pool.hpp"

namespace tconv {
namespace {

using emulator::BlockOrder;
using emulator::ClusterRunner;
using emulator::CodeCopy;
using emulator::CodeImage;

constexpr std::size_t k_allocation_alignment = 256;

/// One image and its loaded copies, for each worker as many as it has needed.
class EmulatorModule final : public Module {
public:
    EmulatorModule(const std::string& path, int workers) : image_(path), copies_(static_cast<std::size_t>(workers)) {
        static_cast<void>(copies(0, 1));  // a file that cannot be loaded is refused here and not at its first launch
    }

    /// One for each block of a cluster. Each worker asks for its own alone.
    std::vector<CodeCopy*> copies(int worker, std::int64_t blocks) {
        std::vector<std::unique_ptr<CodeCopy>>& own = copies_[static_cast<std::size_t>(worker)];
        std::vector<CodeCopy*> result;
        for (std::size_t i = 0; i < static_cast<std::size_t>(blocks); ++i) {
            if (i == own.size()) own.push_back(std::make_unique<CodeCopy>(image_));
            result.push_back(own[i].get());
        }
        return result;
    }
    /// Throws Error(device) when the code has no such kernel.
    void check_entry(const std::string& kernel) { static_cast<void>(copies(0, 1).front()->entry(kernel)); }
    /// Sanitized objects have red zones between them, which no device has: then it is not known.
    [[nodiscard]] std::int64_t static_shared_bytes() const {
        return sanitizer::enabled ? 0 : static_cast<std::int64_t>(image_.static_shared_bytes());
    }

private:
    CodeImage image_;
    std::vector<std::vector<std::unique_ptr<CodeCopy>>> copies_;  // of each worker
};

/// What the workers of one launch share.
struct LaunchJob {
    EmulatorModule& module;
    const std::string& kernel;
    const LaunchGeometry& geometry;
    void** arguments;
    std::uint64_t seed;
    std::uint64_t number;  // of the launch
    std::uint64_t clusters;
    std::uint64_t chunk;  // clusters that a worker takes at a time
    BlockOrder order;
    std::atomic<std::uint64_t> next{0};
    std::atomic<bool> failed{false};
    std::mutex mutex{};
    std::exception_ptr failure{};  // the one that came first in the order of clusters
    std::uint64_t failure_position = 0;
};

void record_failure(LaunchJob& job, std::uint64_t position) {
    const std::lock_guard lock(job.mutex);
    if (job.failure == nullptr || position < job.failure_position) {
        job.failure = std::current_exception();
        job.failure_position = position;
    }
    job.failed = true;
}

void run_clusters(LaunchJob& job, ClusterRunner& runner, int worker) noexcept {
    std::uint64_t position = 0;
    try {
        runner.begin(job.module.copies(worker, job.geometry.cluster), job.kernel, job.geometry, job.arguments);
        while (!job.failed) {
            const std::uint64_t first = job.next.fetch_add(job.chunk);
            if (first >= job.clusters) return;
            const std::uint64_t end = std::min(first + job.chunk, job.clusters);
            for (position = first; position < end && !job.failed; ++position) {
                const std::uint64_t cluster = job.order.at(position);
                runner.run(cluster, emulator::mix_seed(job.seed, job.number, cluster));
            }
        }
    } catch (...) {
        record_failure(job, position);
    }
}

DeviceInfo describe(const EmulatorOptions& options) {
    DeviceInfo info;
    info.kind = DeviceKind::emulator;
    info.name = "emulator";
    // The kernels may use what a device of capability 9.0 has, as far as tconv.cuh has a twin for it.
    info.compute_major = 9;
    info.compute_minor = 0;
    // Not the number of processors: the device's key must be the same on every machine, so that what one emulator has
    // tuned another finds.
    info.multiprocessors = 16;
    info.max_threads_per_block = options.max_threads_per_block;
    info.shared_memory_per_block = options.shared_memory_per_block;
    info.shared_memory_per_multiprocessor = options.shared_memory_per_block + 1024;  // the driver keeps 1 KiB a block
    info.l2_bytes = std::int64_t{32} << 20;
    info.memory_bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    info.driver_version = "emulator 1";
    return info;
}

void* host_address(DevicePointer pointer) {
    return reinterpret_cast<void*>(pointer);
}

/// There is no stream to record from: the work itself is kept.
class KeptWork final : public Recording {
public:
    explicit KeptWork(std::function<void(StreamHandle)> work) : work_(std::move(work)) {}
    void replay() override { work_(nullptr); }

private:
    std::function<void(StreamHandle)> work_;
};

class Emulator final : public Device {
public:
    explicit Emulator(const EmulatorOptions& options)
        : options_(options),
          workers_(options.workers > 0 ? options.workers
                                       : std::max(1, static_cast<int>(std::thread::hardware_concurrency()))),
          info_(describe(options)),
          runners_(static_cast<std::size_t>(workers_)) {}

    [[nodiscard]] const DeviceInfo& info() const override { return info_; }

    [[nodiscard]] std::unique_ptr<Module> load(const CompiledCode& code) override {
        return std::make_unique<EmulatorModule>(code.code, workers_);
    }

    [[nodiscard]] KernelResources resources(Module& module, const std::string& kernel, const LaunchGeometry&) override {
        EmulatorModule& code = dynamic_cast<EmulatorModule&>(module);
        code.check_entry(kernel);
        KernelResources resources;
        resources.static_shared_bytes = code.static_shared_bytes();
        return resources;
    }

    void copy_to_device(DevicePointer destination, const void* source, std::size_t bytes) override {
        if (bytes != 0) std::memcpy(host_address(destination), source, bytes);
    }
    void copy_to_host(void* destination, DevicePointer source, std::size_t bytes) override {
        if (bytes != 0) std::memcpy(destination, host_address(source), bytes);
    }
    void fill(DevicePointer destination, unsigned char value, std::size_t bytes) override {
        if (bytes != 0) std::memset(host_address(destination), value, bytes);
    }

    void forbid_access(DevicePointer pointer, std::size_t bytes) override {
        sanitizer::poison(host_address(pointer), bytes);
    }
    void allow_access(DevicePointer pointer, std::size_t bytes) override {
        sanitizer::unpoison(host_address(pointer), bytes);
    }

    [[nodiscard]] EncodedTensorMap encode(const TensorMap& map, std::int64_t batch, DevicePointer address) override;

    void launch(Module& module, const std::string& kernel, const LaunchGeometry& geometry, void** arguments,
                StreamHandle) override;

    void synchronize() override {}

    [[nodiscard]] double seconds_at_work() const override { return seconds_at_work_; }

    [[nodiscard]] std::unique_ptr<Recording> record(const std::function<void(StreamHandle)>& work) override {
        return std::make_unique<KeptWork>(work);
    }

    [[nodiscard]] std::vector<double> time(int count, const std::function<void()>& before,
                                           const std::function<void()>& work) override;

private:
    [[nodiscard]] DevicePointer take_memory(std::size_t bytes) override {
        void* memory = nullptr;
        if (bytes == 0 || posix_memalign(&memory, k_allocation_alignment, bytes) != 0)
            throw OutOfDeviceMemory(fmt::format("the emulator cannot allocate {} bytes", bytes));
        return reinterpret_cast<DevicePointer>(memory);
    }
    void give_memory_back(DevicePointer pointer) noexcept override { std::free(host_address(pointer)); }

    EmulatorOptions options_;
    int workers_;
    DeviceInfo info_;
    std::vector<std::unique_ptr<ClusterRunner>> runners_;
    std::uint64_t launches_ = 0;
    double seconds_at_work_ = 0;  // launches alone
    emulator::WorkerPool pool_;   // last: its threads end before what they use
};

EncodedTensorMap Emulator::encode(const TensorMap& map, std::int64_t batch, DevicePointer address) {
    tconv_emulator::TensorMap numbers{};
    numbers.address = static_cast<const unsigned char*>(host_address(address));
    numbers.dimensions = static_cast<unsigned char>(map.extents.size());
    numbers.element_bytes = static_cast<unsigned char>(size_of(map.element));
    numbers.rounds_to_tf32 = map.element == MapElement::tf32 ? 1 : 0;
    numbers.swizzle = static_cast<unsigned char>(map.swizzle);
    numbers.mark = tconv_emulator::k_tensor_map_mark;
    for (std::size_t i = 0; i < map.extents.size() && i < k_most_map_dimensions; ++i) {
        numbers.extents[i] = static_cast<unsigned>(extent_for(map, i, batch));
        numbers.box[i] = static_cast<unsigned short>(map.box[i]);
        if (i > 0) numbers.strides[i - 1] = static_cast<unsigned long long>(map.strides[i - 1]);
    }
    EncodedTensorMap result;
    static_assert(sizeof numbers == sizeof result);
    std::memcpy(result.bytes.data(), &numbers, sizeof numbers);
    return result;
}

void Emulator::launch(Module& module, const std::string& kernel, const LaunchGeometry& geometry, void** arguments,
                      StreamHandle) {
    EmulatorModule& code = dynamic_cast<EmulatorModule&>(module);
    code.check_entry(kernel);
    emulator::check_launch(kernel, geometry, code.static_shared_bytes(), options_);

    const auto& grid = geometry.grid;
    const auto clusters = static_cast<std::uint64_t>(grid[0] / geometry.cluster) * static_cast<std::uint64_t>(grid[1]) *
                          static_cast<std::uint64_t>(grid[2]);
    const auto workers = static_cast<std::uint64_t>(workers_);
    const std::uint64_t chunk = std::clamp<std::uint64_t>(clusters / (workers * 16), 1, 64);
    const std::uint64_t number = launches_++;
    LaunchJob job{code,      kernel,        geometry,
                  arguments, options_.seed, number,
                  clusters,  chunk,         BlockOrder(clusters, emulator::mix_seed(options_.seed, number, clusters))};

    const auto start = std::chrono::steady_clock::now();
    const std::uint64_t helpful = std::min(workers, (clusters + chunk - 1) / chunk);
    for (std::uint64_t worker = 0; worker < helpful; ++worker) {
        if (!runners_[worker]) runners_[worker] = std::make_unique<ClusterRunner>();
    }
    pool_.run(static_cast<int>(helpful),
              [&](int worker) { run_clusters(job, *runners_[static_cast<std::size_t>(worker)], worker); });
    seconds_at_work_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (job.failure != nullptr) std::rethrow_exception(job.failure);
}

std::vector<double> Emulator::time(int count, const std::function<void()>& before, const std::function<void()>& work) {
    using Clock = std::chrono::steady_clock;
    std::vector<double> samples;
    for (int i = 0; i < count; ++i) {
        if (before) before();
        const Clock::time_point start = Clock::now();
        work();
        samples.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
    return samples;
}

}  // namespace

std::unique_ptr<Device> make_emulator(const EmulatorOptions& options) {
    return std::make_unique<Emulator>(options);
}

}  // namespace tconv
