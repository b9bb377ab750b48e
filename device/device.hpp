#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/device_info.hpp"
#include "core/error.hpp"
#include "core/outcome.hpp"
#include "core/tensor_map.hpp"

namespace tconv {

/// Address on a device; a host address on the emulator.
using DevicePointer = std::uint64_t;

/// A stream of the CUDA driver (CUstream); null is the default stream. The emulator runs at once and ignores it.
using StreamHandle = void*;

/// Machine code of one translation unit. On CUDA `code` holds a cubin or PTX image; on the emulator it is the path of a
/// shared object in the user's private cache folder (host code is never stored in a database).
struct CompiledCode {
    std::string code;
};

/// Loaded code; unloads itself. Must not outlive its device.
class Module {
public:
    Module() = default;
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;
    virtual ~Module() = default;
};

/// Work recorded once, to be enqueued again as a whole: without the host's part between its launches.
class Recording {
public:
    Recording() = default;
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    virtual ~Recording() = default;

    /// Enqueues it on the default stream. Throws Error(device).
    virtual void replay() = 0;
};

/// A tensor map as a kernel takes it by value. On CUDA the driver's CUtensorMap, which only the hardware reads; on the
/// emulator a tconv_emulator::TensorMap. It holds the array's address, so it is good for that address alone.
struct alignas(128) EncodedTensorMap {
    std::array<unsigned char, 128> bytes{};
};

struct LaunchGeometry {
    std::array<std::int64_t, 3> grid{1, 1, 1};
    std::array<std::int64_t, 3> block{1, 1, 1};
    std::int64_t shared_bytes = 0;
    bool overlaps = false;     ///< may start before what was enqueued before it on the stream has ended
    std::int64_t cluster = 1;  ///< blocks along x that run together; the grid is a multiple of it
};

/// The device has no memory left, or the limit leaves none.
class OutOfDeviceMemory : public Error {
public:
    explicit OutOfDeviceMemory(const std::string& what) : Error(ErrorKind::device, what) {}
};

/// Where kernels run: load, allocate, copy, launch, time. Implemented by the CUDA driver and by the emulator. Every
/// function throws Error(device) on failure; a launch failure on CUDA may surface at `synchronize`. One thread at a
/// time.
class Device {
public:
    Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    virtual ~Device() = default;

    [[nodiscard]] virtual const DeviceInfo& info() const = 0;

    /// Loads compiled code. Throws Error(device) when the image does not fit the device.
    [[nodiscard]] virtual std::unique_ptr<Module> load(const CompiledCode& code) = 0;

    /// Registers, static shared memory and occupancy of `kernel` at this geometry. Throws Error(device) when the entry
    /// is missing.
    [[nodiscard]] virtual KernelResources resources(Module& module, const std::string& kernel,
                                                    const LaunchGeometry& geometry) = 0;

    /// At least element-aligned, in practice 256-byte aligned memory of exactly `bytes` bytes (1 or more). Throws
    /// OutOfDeviceMemory where there are none, or where they would pass the limit.
    [[nodiscard]] DevicePointer allocate(std::size_t bytes);
    void release(DevicePointer pointer) noexcept;

    /// The most bytes that may be allocated at once: all of the device's memory until `limit_memory` says otherwise.
    [[nodiscard]] std::size_t memory_limit() const;
    void limit_memory(std::size_t bytes) { limit_ = bytes; }
    [[nodiscard]] std::size_t allocated_bytes() const { return allocated_; }
    /// From now on memory that is released waits here for whoever asks for about as much, since the driver takes
    /// milliseconds over large memory. It counts for no limit and is given back where it is in the way.
    void keep_released() { keeps_released_ = true; }

    virtual void copy_to_device(DevicePointer destination, const void* source, std::size_t bytes) = 0;
    virtual void copy_to_host(void* destination, DevicePointer source, std::size_t bytes) = 0;
    /// Sets every byte, in stream order.
    virtual void fill(DevicePointer destination, unsigned char value, std::size_t bytes) = 0;

    /// Marks memory that no kernel may touch, or may touch again. Only an address-sanitized emulator enforces it.
    virtual void forbid_access(DevicePointer, std::size_t) {}
    virtual void allow_access(DevicePointer, std::size_t) {}

    /// The form that a launch takes `map` in, for an array at `address`, which is a multiple of 16, in a call with
    /// `batch` entries. Touches no device memory and takes about as long as hashing the
    /// numbers, so that a launch makes its maps anew; a recorded launch keeps them. Throws Error(unavailable) where the
    /// driver knows no tensor maps, Error(device) where it refuses this one.
    [[nodiscard]] virtual EncodedTensorMap encode(const TensorMap& map, std::int64_t batch, DevicePointer address) = 0;

    /// Enqueues one launch; `arguments[i]` points at the value of argument i, as for cuLaunchKernel.
    virtual void launch(Module& module, const std::string& kernel, const LaunchGeometry& geometry, void** arguments,
                        StreamHandle stream) = 0;

    virtual void synchronize() = 0;

    /// Records what `work` enqueues on the stream that it is given, without running it. All that it uses outlives the
    /// recording. Throws Error(device) where something in it cannot be recorded.
    [[nodiscard]] virtual std::unique_ptr<Recording> record(const std::function<void(StreamHandle)>& work) = 0;

    /// Takes `count` samples: each runs `before` untimed, then times `work` by itself, all in stream order on the
    /// default stream. The host waits for each: behind a queue of others a replayed graph takes a microsecond longer.
    /// Milliseconds, from device events (the emulator: a steady clock).
    [[nodiscard]] virtual std::vector<double> time(int count, const std::function<void()>& before,
                                                   const std::function<void()>& work) = 0;

    /// Begins to count how long the device is at work, where it can tell.
    virtual void count_work() {}
    /// Seconds that it has been at what was enqueued on the default stream since then, gaps between launches that the
    /// host did not wait for included; as of the last time that the host has waited.
    [[nodiscard]] virtual double seconds_at_work() const { return 0; }

protected:
    /// Gives back what waits to be used again; to be called by destructors of derived classes.
    void give_spare_back() noexcept;

private:
    struct Block {
        DevicePointer pointer;
        std::size_t bytes;  // as taken from the driver
    };

    [[nodiscard]] std::optional<DevicePointer> take_spare(std::size_t bytes);
    [[nodiscard]] DevicePointer take_or_make_room(std::size_t bytes);
    [[nodiscard]] bool keep_spare(const Block& block) noexcept;
    [[nodiscard]] virtual DevicePointer take_memory(std::size_t bytes) = 0;
    virtual void give_memory_back(DevicePointer pointer) noexcept = 0;

    std::optional<std::size_t> limit_;
    std::size_t allocated_ = 0;
    std::unordered_map<DevicePointer, std::size_t> sizes_;  // as taken from the driver
    bool keeps_released_ = false;
    std::vector<Block> spare_;  // released, those that wait longest first
    std::size_t spare_bytes_ = 0;
};

}  // namespace tconv
