#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/emulator/block_runner.hpp"
#include "device/emulator/loaded_code.hpp"

namespace tconv::emulator {

/// Runs clusters of blocks one after another on one processor thread; a block by itself is a cluster of one. The blocks
/// of a cluster take turns of random length, in which the next thread is chosen at random among those that can run.
class ClusterRunner {
public:
    /// Prepares for clusters of one launch, of as many blocks as there are `codes`: copies of the same image. All
    /// arguments must live until the last of them has run.
    void begin(const std::vector<CodeCopy*>& codes, const std::string& kernel, const LaunchGeometry& geometry,
               void** arguments);

    /// Runs cluster number `number` (x fastest). Throws Error(device): deadlock, misaligned access, memory written
    /// outside.
    void run(std::uint64_t number, std::uint64_t seed);

private:
    void run_ready_threads();
    [[nodiscard]] std::string deadlock() const;

    Cluster cluster_;
    std::vector<std::unique_ptr<BlockRunner>> blocks_;
    const std::string* kernel_ = nullptr;
};

}  // namespace tconv::emulator
