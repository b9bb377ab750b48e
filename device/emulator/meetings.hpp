#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "device/emulator/emulator_abi.hpp"
#include "device/emulator/matrix_products.hpp"
#include "device/emulator/pending_copies.hpp"
#include "device/emulator/pending_products.hpp"

namespace tconv::emulator {

class Fibre;
using tconv_emulator::Meeting;

inline constexpr int k_warp_size = 32;
inline constexpr int k_warpgroup_size = 128;

enum class ThreadState { ready, waits, exited };

/// What a waiting thread asked for.
struct Wait {
    Meeting meeting = Meeting::syncthreads;
    unsigned mask = 0;
    std::uint64_t value = 0;
    int source = 0;
    int line = 0;
};

/// One CUDA thread of the block that runs.
struct CudaThread {
    std::array<unsigned, 3> index{};
    Fibre* fibre = nullptr;  ///< null before its start and after its end
    ThreadState state = ThreadState::ready;
    Wait wait;
    std::uint64_t result = 0;  ///< of the meeting that it waited for
    PendingCopies copies;
    PendingProducts products;
    WarpOperands operands{};  ///< of the warp's product that it waits for
};

/// Counts the threads of a block, or of a cluster, that have come to a barrier. All of them must come, to the same
/// barrier of the source.
class BlockMeeting {
public:
    void reset() { *this = {}; }
    /// True when `threads` threads have come and all wait for the same; `count` is then the number of yes.
    [[nodiscard]] bool arrive(const Wait& wait, std::size_t threads);
    [[nodiscard]] int count() const { return count_; }

private:
    std::size_t arrived_ = 0;
    int count_ = 0;
    bool mixed_ = false;
    Wait first_;
};

/// Where the lanes of each warp wait for each other.
class WarpMeetings {
public:
    void reset(std::size_t threads);
    /// Thread `thread` has come with `threads[thread].wait`. Where its mask is complete, results are set and the lanes
    /// that may go on are returned as a mask, else 0. Lanes that the block does not have are not waited for.
    [[nodiscard]] unsigned arrive(std::vector<CudaThread>& threads, std::size_t thread);

private:
    std::vector<unsigned> waiting_;  // a mask a warp
};

/// Where the threads of each warpgroup wait for each other. All of them must come, to the same operation.
class WarpgroupMeetings {
public:
    void reset(std::size_t threads);
    /// Thread `thread` has come with `threads[thread].wait`. True where its warpgroup may go on.
    [[nodiscard]] bool arrive(const std::vector<CudaThread>& threads, std::size_t thread);

private:
    std::vector<int> waiting_;  // threads of each warpgroup
};

/// "31 threads wait at __syncthreads (line 7), 225 have exited".
[[nodiscard]] std::string describe_waiting(const std::vector<CudaThread>& threads);

}  // namespace tconv::emulator
