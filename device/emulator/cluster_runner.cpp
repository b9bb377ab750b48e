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

// A block goes on for some time before another has its turn, so that each gets far ahead of the others now and then.
void ClusterRunner::run_ready_threads() {
    constexpr std::uint32_t turns = 1024;
    const auto blocks = static_cast<std::uint32_t>(cluster_.blocks.size());
    std::uint32_t current = cluster_.random.below(blocks);
    while (cluster_.failure.empty()) {
        if (blocks > 1 && cluster_.random.below(turns) == 0) current = cluster_.random.below(blocks);
        for (std::uint32_t others = 1; others < blocks && cluster_.blocks[current]->ready() == 0; ++others)
            current = (current + 1) % blocks;
        BlockRunner& block = *cluster_.blocks[current];
        if (block.ready() == 0) return;
        block.run_ready_thread(cluster_.random.below(static_cast<std::uint32_t>(block.ready())));
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
