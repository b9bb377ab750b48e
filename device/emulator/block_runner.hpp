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

class BlockRunner;

/// What the blocks of a cluster have in common.
struct Cluster {
    std::vector<BlockRunner*> blocks;  ///< by rank
    BlockMeeting meeting;
    Random random{0};
    std::size_t polls = 0;  ///< of barriers, in vain, since anything happened
    std::string failure;

    void start(std::uint64_t seed) {
        meeting.reset();
        random = Random(seed);
        polls = 0;
        failure.clear();
    }
};

/// One block of a cluster after another: each CUDA thread is a fibre, which runs until it waits for others.
class BlockRunner {
public:
    explicit BlockRunner(Cluster& cluster);
    BlockRunner(const BlockRunner&) = delete;
    BlockRunner& operator=(const BlockRunner&) = delete;

    /// Prepares for blocks of one launch, as the cluster's blocks are known.
    void begin(CodeCopy& code, const std::string& kernel, const LaunchGeometry& geometry, void** arguments);

    /// Begins with block number `block` (x fastest).
    void start(std::uint64_t block);
    /// Threads that can run.
    [[nodiscard]] std::size_t ready() const { return ready_.size(); }
    /// Runs one of them until it waits or ends.
    void run_ready_thread(std::size_t position);
    [[nodiscard]] bool has_ended() const { return exited_ == threads_.size(); }
    /// Which threads wait for what, and in which block.
    [[nodiscard]] std::string waiting() const;
    /// What a block that has ended did wrong and nothing showed before; empty where nothing.
    [[nodiscard]] std::string left_behind() const;

private:
    struct Callbacks;

    void run_thread(std::uint32_t thread);
    Fibre* idle_fibre();
    /// Frees the fibres of threads that a failed launch has left waiting.
    void discard_fibres();
    void meet_block(const Wait& wait);
    void meet_warp(const Wait& wait);
    /// The lanes that may go on once the current thread has come.
    [[nodiscard]] unsigned come_to_warp(const Wait& wait);
    void wake_lanes(unsigned lanes);
    void multiply_warp(tconv_emulator::Element element, const WarpOperands& operands, int line);
    void meet_warpgroup(const Wait& wait);
    void meet_cluster(const Wait& wait);
    void wake_all();
    /// True where the phase is complete; false only where the thread does not wait.
    [[nodiscard]] bool meet_at_barrier(void* barrier, unsigned parity, bool waits, int line);
    [[nodiscard]] bool poll(const void* barrier, unsigned parity);
    void arrive(void* barrier, unsigned arrivals, unsigned bytes);
    /// `blocks` of the cluster get the bytes, one bit each; 0: this one.
    void start_copy(const BarrierCopy& copy, unsigned blocks);
    void receive_copy(const BarrierCopy& copy, bool at_once);
    void arrive_in_cluster(void* barrier, unsigned rank);
    [[nodiscard]] BlockRunner& peer(std::size_t rank) const;
    /// What `other` has where this block has `address` in its shared memory.
    [[nodiscard]] void* counterpart(void* address, const BlockRunner& other) const;
    void wake_waiting_at(void* barrier);
    [[nodiscard]] bool is_waited_for(const void* barrier) const;
    [[nodiscard]] PendingCopies& own_copies();
    void note_failure(const std::string& what);
    /// Called within a kernel after note_failure; the fibre is never resumed, so nothing that the caller owns is freed.
    void stop_here();
    void wait_here(const Wait& wait);
    [[nodiscard]] std::string block_name() const;

    Cluster& cluster_;
    tconv_emulator::Host host_{};
    CodeCopy* code_ = nullptr;
    Entry entry_ = nullptr;
    void** arguments_ = nullptr;
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

    std::vector<std::unique_ptr<Fibre>> fibres_;
    std::vector<Fibre*> idle_;
};

}  // namespace tconv::emulator
