#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/emulator/dynamic_shared.hpp"
#include "device/emulator/fibre.hpp"
#include "device/emulator/loaded_code.hpp"
#include "device/emulator/meetings.hpp"
#include "device/emulator/random_order.hpp"
#include "device/emulator/shared_barriers.hpp"

namespace tconv::emulator {

/// Runs blocks one after another on one processor thread: each CUDA thread is a fibre, and among those that can run the
/// next is chosen at random.
class BlockRunner {
public:
    BlockRunner();
    BlockRunner(const BlockRunner&) = delete;
    BlockRunner& operator=(const BlockRunner&) = delete;

    /// Prepares for blocks of one launch. All arguments must live until the last of them has run.
    void begin(CodeCopy& code, const std::string& kernel, const LaunchGeometry& geometry, void** arguments);

    /// Runs block number `block` (x fastest). Throws Error(device): deadlock, misaligned access, memory written
    /// outside.
    void run(std::uint64_t block, std::uint64_t seed);

private:
    struct Callbacks;

    void start_block(std::uint64_t block);
    void run_ready_threads(Random& random);
    void run_thread(std::uint32_t thread);
    Fibre* idle_fibre();
    /// Frees the fibres of threads that a failed launch has left waiting.
    void discard_fibres();
    void meet_block(const Wait& wait);
    void meet_warp(const Wait& wait);
    void meet_warpgroup(const Wait& wait);
    /// True where the phase is complete; false only where the thread does not wait.
    [[nodiscard]] bool meet_at_barrier(void* barrier, unsigned parity, bool waits, int line);
    [[nodiscard]] bool poll(const void* barrier, unsigned parity);
    void arrive(void* barrier, unsigned arrivals, unsigned bytes);
    void start_copy(const BarrierCopy& copy);
    void wake_waiting_at(void* barrier);
    [[nodiscard]] bool is_waited_for(const void* barrier) const;
    [[nodiscard]] std::string deadlock() const;
    [[nodiscard]] PendingCopies& own_copies();
    void note_failure(const std::string& what);
    /// Called within a kernel after note_failure; the fibre is never resumed, so nothing that the caller owns is freed.
    void stop_here();
    void wait_here(const Wait& wait);
    [[nodiscard]] std::string block_name() const;

    tconv_emulator::Host host_{};
    CodeCopy* code_ = nullptr;
    Entry entry_ = nullptr;
    void** arguments_ = nullptr;
    const std::string* kernel_ = nullptr;
    std::array<std::int64_t, 3> grid_{1, 1, 1};
    std::array<std::int64_t, 3> block_{};  // extents, not the index
    DynamicShared dynamic_shared_;

    std::vector<CudaThread> threads_;
    std::vector<std::uint32_t> all_;    // 0, 1, … threads - 1
    std::vector<std::uint32_t> ready_;  // threads that can run
    std::uint32_t current_ = 0;
    std::size_t exited_ = 0;
    BlockMeeting block_meeting_;
    WarpMeetings warp_meetings_;
    WarpgroupMeetings warpgroup_meetings_;
    SharedBarriers barriers_;
    std::vector<std::uint32_t> at_barriers_;  // threads that wait at one
    std::size_t polls_ = 0;                   // of barriers, in vain, since anything happened
    std::string failure_;

    std::vector<std::unique_ptr<Fibre>> fibres_;
    std::vector<Fibre*> idle_;
};

}  // namespace tconv::emulator
