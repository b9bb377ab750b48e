#include "device/emulator/cluster_runner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"

namespace tconv::emulator {

void ClusterRunner::begin(const std::vector<CodeCopy*>& codes, const std::string& kernel,
                          const LaunchGeometry& geometry, void** arguments) {
    kernel_ = &kernel;
    while (blocks_.size() < codes.size())
        blocks_.push_back(std::make_unique<BlockRunner>(cluster_));
    cluster_.blocks.clear();
    for (std::size_t rank = 0; rank < codes.size(); ++rank) {
        cluster_.blocks.push_back(blocks_[rank].get());
        blocks_[rank]->begin(*codes[rank], kernel, geometry, arguments);
    }
}

void ClusterRunner::run(std::uint64_t number, std::uint64_t seed) {
    cluster_.start(seed);
    for (std::size_t rank = 0; rank < cluster_.blocks.size(); ++rank)
        cluster_.blocks[rank]->start(number * cluster_.blocks.size() + rank);
    run_ready_threads();
    std::string& failure = cluster_.failure;
    if (failure.empty()) failure = deadlock();
    for (BlockRunner* block : cluster_.blocks) {
        if (failure.empty()) failure = block->left_behind();
    }
    if (failure.empty()) return;
    throw Error(ErrorKind::device, fmt::format("kernel {}: {}", *kernel_, failure));
}

void ClusterRunner::run_ready_threads() {
    while (cluster_.failure.empty()) {
        std::size_t ready = 0;
        for (const BlockRunner* block : cluster_.blocks)
            ready += block->ready();
        if (ready == 0) return;
        std::size_t position = cluster_.random.below(static_cast<std::uint32_t>(ready));
        for (BlockRunner* block : cluster_.blocks) {
            if (position < block->ready()) {
                block->run_ready_thread(position);
                break;
            }
            position -= block->ready();
        }
    }
}

std::string ClusterRunner::deadlock() const {
    std::string text;
    for (const BlockRunner* block : cluster_.blocks) {
        if (!block->has_ended()) text += (text.empty() ? "deadlock in " : "; in ") + block->waiting();
    }
    return text;
}

}  // namespace tconv::emulator
