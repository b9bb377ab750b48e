#include "device/emulator/block_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/error.hpp"

namespace tconv::emulator {
namespace {

void set_extents(unsigned* target, const std::array<std::int64_t, 3>& extents) {
    for (std::size_t axis = 0; axis < 3; ++axis)
        target[axis] = static_cast<unsigned>(extents[axis]);
}

}  // namespace

void BlockRunner::begin(CodeCopy& code, const std::string& kernel, const LaunchGeometry& geometry, void** arguments) {
    discard_fibres();
    code_ = &code;
    entry_ = code.entry(kernel);
    arguments_ = arguments;
    grid_ = geometry.grid;
    if (block_ != geometry.block) {
        block_ = geometry.block;
        threads_.resize(static_cast<std::size_t>(block_[0] * block_[1] * block_[2]));
        all_.resize(threads_.size());
        std::iota(all_.begin(), all_.end(), 0u);
        for (std::uint32_t i = 0; i < threads_.size(); ++i) {
            const auto x = static_cast<std::uint32_t>(block_[0]);
            const auto y = static_cast<std::uint32_t>(block_[1]);
            threads_[i].index = {i % x, i / x % y, i / x / y};
        }
    }
    dynamic_shared_.resize(static_cast<std::size_t>(geometry.shared_bytes));
    const tconv_emulator::Interface& interface = code.interface();
    set_extents(interface.block_extent, block_);
    set_extents(interface.grid_extent, grid_);
    *interface.host = &host_;
    *interface.dynamic_shared = dynamic_shared_.data();
}

void BlockRunner::start(std::uint64_t block) {
    const auto x = static_cast<std::uint64_t>(grid_[0]);
    const auto y = static_cast<std::uint64_t>(grid_[1]);
    unsigned* index = code_->interface().block_index;
    index[0] = static_cast<unsigned>(block % x);
    index[1] = static_cast<unsigned>(block / x % y);
    index[2] = static_cast<unsigned>(block / x / y);
    code_->poison_static_shared();
    dynamic_shared_.poison();
    for (CudaThread& thread : threads_) {
        thread.state = ThreadState::ready;
        thread.copies.clear();
        thread.products.clear();
    }
    ready_ = all_;
    exited_ = 0;
    block_meeting_.reset();
    warp_meetings_.reset(threads_.size());
    warpgroup_meetings_.reset(threads_.size());
    barriers_.reset();
    at_barriers_.clear();
}

void BlockRunner::run_ready_thread(std::size_t position) {
    const std::uint32_t thread = ready_[position];
    ready_[position] = ready_.back();
    ready_.pop_back();
    run_thread(thread);
}

void BlockRunner::run_thread(std::uint32_t number) {
    CudaThread& thread = threads_[number];
    unsigned* index = code_->interface().thread_index;
    for (std::size_t axis = 0; axis < 3; ++axis)
        index[axis] = thread.index[axis];
    current_ = number;
    bool ended = false;
    if (thread.fibre != nullptr) {
        ended = thread.fibre->resume();
    } else {
        thread.fibre = idle_fibre();
        ended = thread.fibre->start(
            [](void* context) {
                const BlockRunner& runner = *static_cast<BlockRunner*>(context);
                runner.entry_(runner.arguments_);
            },
            this);
    }
    if (!ended) return;
    idle_.push_back(thread.fibre);
    thread.fibre = nullptr;
    thread.state = ThreadState::exited;
    ++exited_;
    cluster_.polls = 0;
}

Fibre* BlockRunner::idle_fibre() {
    if (idle_.empty()) {
        fibres_.push_back(std::make_unique<Fibre>(static_cast<int>(fibres_.size())));
        idle_.reserve(fibres_.size());
        return fibres_.back().get();
    }
    Fibre* fibre = idle_.back();
    idle_.pop_back();
    return fibre;
}

void BlockRunner::discard_fibres() {
    for (CudaThread& thread : threads_) {
        if (thread.fibre == nullptr) continue;
        thread.fibre->discard();
        idle_.push_back(thread.fibre);
        thread.fibre = nullptr;
    }
}

void BlockRunner::wait_here(const Wait& wait) {
    CudaThread& thread = threads_[current_];
    thread.state = ThreadState::waits;
    thread.wait = wait;
}

void BlockRunner::meet_block(const Wait& wait) {
    cluster_.polls = 0;
    Fibre* fibre = threads_[current_].fibre;
    wait_here(wait);
    if (block_meeting_.arrive(wait, threads_.size())) {
        for (CudaThread& thread : threads_)
            thread.result = static_cast<std::uint64_t>(block_meeting_.count());
        wake_all();
        block_meeting_.reset();
    }
    fibre->suspend();
}

void BlockRunner::wake_all() {
    for (CudaThread& thread : threads_)
        thread.state = ThreadState::ready;
    ready_ = all_;
}

void BlockRunner::meet_cluster(const Wait& wait) {
    cluster_.polls = 0;
    Fibre* fibre = threads_[current_].fibre;
    wait_here(wait);
    if (cluster_.meeting.arrive(wait, threads_.size() * cluster_.blocks.size())) {
        for (BlockRunner* block : cluster_.blocks)
            block->wake_all();
        cluster_.meeting.reset();
    }
    fibre->suspend();
}

void BlockRunner::meet_warp(const Wait& wait) {
    Fibre* fibre = threads_[current_].fibre;
    wake_lanes(come_to_warp(wait));
    fibre->suspend();
}

unsigned BlockRunner::come_to_warp(const Wait& wait) {
    cluster_.polls = 0;
    const std::uint32_t lane = current_ % k_warp_size;
    if ((wait.mask >> lane & 1u) == 0) {
        note_failure(fmt::format("lane {} calls a warp operation (line {}) with mask {:#010x}, which does not name it",
                                 lane, wait.line, wait.mask));
        stop_here();
    }
    wait_here(wait);
    return warp_meetings_.arrive(threads_, current_);
}

void BlockRunner::wake_lanes(unsigned lanes) {
    const std::uint32_t first = current_ / k_warp_size * k_warp_size;
    for (; lanes != 0; lanes &= lanes - 1) {
        const std::uint32_t thread = first + static_cast<std::uint32_t>(std::countr_zero(lanes));
        threads_[thread].state = ThreadState::ready;
        ready_.push_back(thread);
    }
}

// The lane that comes last multiplies for all of them: until they go on, their operands stay where they are.
void BlockRunner::multiply_warp(tconv_emulator::Element element, const WarpOperands& operands, int line) {
    Fibre* fibre = threads_[current_].fibre;
    const std::uint32_t first = current_ / k_warp_size * k_warp_size;
    if (threads_.size() - first < k_warp_size) {
        note_failure(fmt::format("a warp of {} lanes asks for a product (line {})", threads_.size() - first, line));
        stop_here();
    }
    threads_[current_].operands = operands;
    const unsigned lanes = come_to_warp({Meeting::warp_product, ~0u, 0, 0, line});
    if (lanes != 0) {
        std::array<WarpOperands, k_warp_size> all{};
        for (std::uint32_t lane = 0; lane < k_warp_size; ++lane)
            all[lane] = threads_[first + lane].operands;
        emulator::multiply_warp(element, all);
    }
    wake_lanes(lanes);
    fibre->suspend();
}

void BlockRunner::meet_warpgroup(const Wait& wait) {
    Fibre* fibre = threads_[current_].fibre;
    wait_here(wait);
    if (warpgroup_meetings_.arrive(threads_, current_)) {
        const std::uint32_t first = current_ / k_warpgroup_size * k_warpgroup_size;
        for (std::uint32_t thread = first; thread < first + k_warpgroup_size; ++thread) {
            threads_[thread].state = ThreadState::ready;
            ready_.push_back(thread);
        }
    }
    fibre->suspend();
}

bool BlockRunner::meet_at_barrier(void* barrier, unsigned parity, bool waits, int line) {
    if (SharedBarriers::is_complete(barrier, parity)) return true;
    if (barriers_.settle(barrier)) {
        wake_waiting_at(barrier);
        return true;
    }
    if (!waits) return poll(barrier, parity);
    Fibre* fibre = threads_[current_].fibre;
    wait_here({Meeting::barrier, parity & 1U, reinterpret_cast<std::uintptr_t>(barrier), 0, line});
    at_barriers_.push_back(current_);
    fibre->suspend();
    return true;
}

// Lets the others go on. Where each has had many turns and nothing came of it, nothing ever will.
bool BlockRunner::poll(const void* barrier, unsigned parity) {
    constexpr std::size_t turns = 1000;
    if (++cluster_.polls > turns * threads_.size() * cluster_.blocks.size()) {
        throw Error(ErrorKind::device,
                    fmt::format("a barrier in shared memory is asked for ever: it {}", barriers_.missing(barrier)));
    }
    ready_.push_back(current_);
    threads_[current_].fibre->suspend();
    return SharedBarriers::is_complete(barrier, parity);
}

void BlockRunner::arrive(void* barrier, unsigned arrivals, unsigned bytes) {
    cluster_.polls = 0;
    if (barriers_.arrive(barrier, arrivals, bytes) || (is_waited_for(barrier) && barriers_.settle(barrier)))
        wake_waiting_at(barrier);
}

void BlockRunner::receive_copy(const BarrierCopy& copy, bool at_once) {
    cluster_.polls = 0;
    barriers_.start(copy, at_once);
    if (is_waited_for(copy.barrier) && barriers_.settle(copy.barrier)) wake_waiting_at(copy.barrier);
}

// The bytes land at once or when they are waited for, at random: a block that still reads what another one has replaced
// shows, and so does one that does not wait.
void BlockRunner::start_copy(const BarrierCopy& copy, unsigned blocks) {
    if (blocks == 0) {
        receive_copy(copy, false);
        return;
    }
    if (blocks >> cluster_.blocks.size() != 0) {
        throw Error(ErrorKind::device,
                    fmt::format("a copy goes to blocks {:#x} of a cluster of {}", blocks, cluster_.blocks.size()));
    }
    for (std::size_t rank = 0; rank < cluster_.blocks.size(); ++rank) {
        if ((blocks >> rank & 1U) == 0) continue;
        BlockRunner& other = peer(rank);
        BarrierCopy part = copy;
        part.barrier = counterpart(copy.barrier, other);
        part.shared = static_cast<unsigned char*>(counterpart(copy.shared, other));
        other.receive_copy(part, cluster_.random.below(2) == 0);
    }
}

void BlockRunner::arrive_in_cluster(void* barrier, unsigned rank) {
    BlockRunner& other = peer(rank);
    other.arrive(counterpart(barrier, other), 1, 0);
}

BlockRunner& BlockRunner::peer(std::size_t rank) const {
    if (rank >= cluster_.blocks.size()) {
        throw Error(ErrorKind::device,
                    fmt::format("block {} is asked for in a cluster of {}", rank, cluster_.blocks.size()));
    }
    BlockRunner& other = *cluster_.blocks[rank];
    if (other.has_ended()) {
        throw Error(ErrorKind::device, fmt::format("{} has ended, and with it its shared memory", other.block_name()));
    }
    return other;
}

void* BlockRunner::counterpart(void* address, const BlockRunner& other) const {
    const auto at = static_cast<unsigned char*>(address);
    if (const auto offset = dynamic_shared_.offset_of(at))
        return static_cast<unsigned char*>(other.dynamic_shared_.data()) + *offset;
    if (const auto offset = code_->static_shared_offset_of(at)) return other.code_->static_shared() + *offset;
    throw Error(ErrorKind::device, "an address of another block's shared memory is none in that of its own");
}

bool BlockRunner::is_waited_for(const void* barrier) const {
    const auto address = reinterpret_cast<std::uintptr_t>(barrier);
    return std::any_of(at_barriers_.begin(), at_barriers_.end(),
                       [&](std::uint32_t thread) { return threads_[thread].wait.value == address; });
}

// Its phase has turned over, so all that wait there wait for the one before.
void BlockRunner::wake_waiting_at(void* barrier) {
    const auto address = reinterpret_cast<std::uintptr_t>(barrier);
    const auto others = std::partition(at_barriers_.begin(), at_barriers_.end(),
                                       [&](std::uint32_t thread) { return threads_[thread].wait.value != address; });
    for (auto thread = others; thread != at_barriers_.end(); ++thread) {
        threads_[*thread].state = ThreadState::ready;
        ready_.push_back(*thread);
    }
    at_barriers_.erase(others, at_barriers_.end());
}

std::string BlockRunner::waiting() const {
    std::string text = fmt::format("{}: {}", block_name(), describe_waiting(threads_));
    if (at_barriers_.empty()) return text;
    const Wait& first = threads_[at_barriers_.front()].wait;
    const void* barrier = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(first.value));
    return text + fmt::format("; the barrier of line {} {}", first.line, barriers_.missing(barrier));
}

std::string BlockRunner::left_behind() const {
    if (barriers_.any_copies())
        return fmt::format("{} ends before copies that it started: no barrier was waited for", block_name());
    const std::string damage = dynamic_shared_.damage();
    return damage.empty() ? damage : fmt::format("{} {}", block_name(), damage);
}

PendingCopies& BlockRunner::own_copies() {
    return threads_[current_].copies;
}

void BlockRunner::note_failure(const std::string& what) {
    const CudaThread& thread = threads_[current_];
    cluster_.failure =
        fmt::format("{}, thread ({},{},{}): {}", block_name(), thread.index[0], thread.index[1], thread.index[2], what);
}

void BlockRunner::stop_here() {
    threads_[current_].fibre->suspend();
}

std::string BlockRunner::block_name() const {
    const unsigned* index = code_->interface().block_index;
    return fmt::format("block ({},{},{})", index[0], index[1], index[2]);
}

}  // namespace tconv::emulator
