#include "device/emulator/meetings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tconv::emulator {
namespace {

bool is_shuffle(Meeting meeting) {
    return meeting >= Meeting::shuffle && meeting <= Meeting::shuffle_xor;
}
bool is_of_warp(Meeting meeting) {
    return meeting >= Meeting::syncwarp && meeting <= Meeting::warp_product;
}

const char* name_of(Meeting meeting) {
    switch (meeting) {
        case Meeting::syncthreads:
            return "__syncthreads";
        case Meeting::syncthreads_count:
            return "__syncthreads_count";
        case Meeting::syncthreads_and:
            return "__syncthreads_and";
        case Meeting::syncthreads_or:
            return "__syncthreads_or";
        case Meeting::syncwarp:
            return "__syncwarp";
        case Meeting::shuffle:
            return "__shfl_sync";
        case Meeting::shuffle_up:
            return "__shfl_up_sync";
        case Meeting::shuffle_down:
            return "__shfl_down_sync";
        case Meeting::shuffle_xor:
            return "__shfl_xor_sync";
        case Meeting::ballot:
            return "__ballot_sync";
        case Meeting::any:
            return "__any_sync";
        case Meeting::all:
            return "__all_sync";
        case Meeting::warp_product:
            return "a product of a warp";
        case Meeting::warpgroup:
            return "warpgroup_sync";
        case Meeting::wgmma_wait:
            return "wgmma_wait";
        case Meeting::cluster:
            return "cluster_sync";
        case Meeting::barrier:
            return "a barrier in shared memory";
    }
    return "an unknown barrier";
}

std::string place_of(const Wait& wait) {
    if (wait.meeting == Meeting::barrier)
        return fmt::format("{}, phase of parity {} (line {})", name_of(wait.meeting), wait.mask, wait.line);
    if (!is_of_warp(wait.meeting)) return fmt::format("{} (line {})", name_of(wait.meeting), wait.line);
    return fmt::format("{} with mask {:#010x} (line {})", name_of(wait.meeting), wait.mask, wait.line);
}

void set_results(CudaThread* lanes, unsigned mask) {
    unsigned votes = 0;
    std::array<std::uint64_t, k_warp_size> values{};
    for (int lane = 0; lane < k_warp_size; ++lane) {
        if ((mask >> lane & 1u) == 0) continue;
        values[lane] = lanes[lane].wait.value;
        if (values[lane] != 0) votes |= 1u << lane;
    }
    for (int lane = 0; lane < k_warp_size; ++lane) {
        if ((mask >> lane & 1u) == 0) continue;
        CudaThread& thread = lanes[lane];
        const int source = thread.wait.source;
        // What a lane outside the mask would give is undefined: not a number, whatever the type.
        const std::uint64_t value = (mask >> source & 1u) != 0 ? values[source] : ~std::uint64_t{0};
        thread.result = is_shuffle(thread.wait.meeting) ? value : votes;
    }
}

}  // namespace

bool BlockMeeting::arrive(const Wait& wait, std::size_t threads) {
    if (arrived_ == 0) first_ = wait;
    if (wait.meeting != first_.meeting || wait.line != first_.line) mixed_ = true;
    if (wait.value != 0) ++count_;
    ++arrived_;
    return arrived_ == threads && !mixed_;
}

void WarpMeetings::reset(std::size_t threads) {
    waiting_.assign((threads + k_warp_size - 1) / k_warp_size, 0u);
}

unsigned WarpMeetings::arrive(std::vector<CudaThread>& threads, std::size_t thread) {
    const std::size_t warp = thread / k_warp_size;
    const std::size_t first = warp * k_warp_size;
    unsigned& waiting = waiting_[warp];
    waiting |= 1u << (thread - first);
    const std::size_t present = std::min<std::size_t>(k_warp_size, threads.size() - first);
    const unsigned mask = threads[thread].wait.mask & (0xffffffffu >> (k_warp_size - present));
    if ((waiting & mask) != mask) return 0;
    const Wait& own = threads[thread].wait;
    for (std::size_t lane = 0; lane < present; ++lane) {
        const Wait& other = threads[first + lane].wait;
        const bool expected = (mask >> lane & 1u) != 0;
        if (expected && (other.meeting != own.meeting || other.mask != own.mask)) return 0;
    }
    set_results(threads.data() + first, mask);
    waiting &= ~mask;
    return mask;
}

void WarpgroupMeetings::reset(std::size_t threads) {
    waiting_.assign((threads + k_warpgroup_size - 1) / k_warpgroup_size, 0);
}

bool WarpgroupMeetings::arrive(const std::vector<CudaThread>& threads, std::size_t thread) {
    const std::size_t group = thread / k_warpgroup_size;
    const std::size_t first = group * k_warpgroup_size;
    if (++waiting_[group] != k_warpgroup_size) return false;
    const Wait& own = threads[thread].wait;
    for (std::size_t other = first; other < first + k_warpgroup_size; ++other) {
        const Wait& wait = threads[other].wait;
        if (wait.meeting != own.meeting || wait.line != own.line) return false;
    }
    waiting_[group] = 0;
    return true;
}

std::string describe_waiting(const std::vector<CudaThread>& threads) {
    std::map<std::string, int> places;
    int exited = 0;
    for (const CudaThread& thread : threads) {
        if (thread.state == ThreadState::exited) ++exited;
        if (thread.state == ThreadState::waits) ++places[place_of(thread.wait)];
    }
    std::string text;
    for (const auto& [place, count] : places) {
        text += fmt::format("{}{} thread{} at {}", text.empty() ? "" : ", ", count, count == 1 ? " waits" : "s wait",
                            place);
    }
    if (exited != 0) text += fmt::format(", {} {} exited", exited, exited == 1 ? "has" : "have");
    return text;
}

}  // namespace tconv::emulator
