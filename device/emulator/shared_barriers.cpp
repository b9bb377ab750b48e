#include "device/emulator/shared_barriers.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

#include "core/error.hpp"

namespace tconv::emulator {
namespace {

// The word of a barrier: mark (2 bits), phase (1), arrivals of a phase and those yet to come (20 each), bytes (21).
constexpr std::uint64_t k_mark = 2;  // in neither zeros nor poison: memory that is no barrier, or one written over
constexpr int k_mark_at = 62;
constexpr int k_phase_at = 61;
constexpr int k_arrivals_at = 41;
constexpr int k_pending_at = 21;
constexpr unsigned k_most_arrivals = (1U << 20) - 1;
constexpr std::int64_t k_most_bytes = (std::int64_t{1} << 20) - 1;

struct State {
    unsigned phase = 0;
    unsigned arrivals = 0;
    unsigned pending = 0;
    std::int64_t bytes = 0;  ///< expected and yet to come
};

[[noreturn]] void fail(const std::string& sentence) {
    throw Error(ErrorKind::device, sentence);
}

std::optional<State> look_at(const void* barrier) {
    std::uint64_t word = 0;
    std::memcpy(&word, barrier, sizeof word);
    if (word >> k_mark_at != k_mark) return std::nullopt;
    return State{static_cast<unsigned>(word >> k_phase_at & 1U),
                 static_cast<unsigned>(word >> k_arrivals_at & k_most_arrivals),
                 static_cast<unsigned>(word >> k_pending_at & k_most_arrivals),
                 static_cast<std::int64_t>(word & static_cast<std::uint64_t>(k_most_bytes))};
}

State read(const void* barrier) {
    const std::optional<State> state = look_at(barrier);
    if (!state) fail("a barrier in shared memory is used that was not initialised, or was written over");
    return *state;
}

void write(void* barrier, const State& state) {
    const std::uint64_t word = k_mark << k_mark_at | std::uint64_t{state.phase} << k_phase_at |
                               std::uint64_t{state.arrivals} << k_arrivals_at |
                               std::uint64_t{state.pending} << k_pending_at | static_cast<std::uint64_t>(state.bytes);
    std::memcpy(barrier, &word, sizeof word);
}

/// Turns a complete phase over.
bool turn_over(void* barrier, State state) {
    const bool complete = state.pending == 0 && state.bytes == 0;
    if (complete) {
        state.phase ^= 1U;
        state.pending = state.arrivals;
    }
    write(barrier, state);
    return complete;
}

void deliver(const BarrierCopy& copy) {
    if (copy.map) {
        copy_box(*copy.map, copy.corner, copy.shared);
    } else {
        std::memcpy(copy.shared, copy.global, copy.bytes);
    }
}

}  // namespace

void SharedBarriers::init(void* barrier, unsigned arrivals) const {
    if (arrivals < 1 || arrivals > k_most_arrivals)
        fail(fmt::format("arrivals of a barrier ({}) must be 1 to {}", arrivals, k_most_arrivals));
    if (bytes_under_way(barrier) > 0) fail("a barrier is initialised while copies that it counts are under way");
    write(barrier, State{0, arrivals, arrivals, 0});
}

bool SharedBarriers::arrive(void* barrier, unsigned arrivals, unsigned bytes) const {
    State state = read(barrier);
    if (arrivals > state.pending) fail(fmt::format("more than {} threads arrive at a barrier", state.arrivals));
    const std::int64_t expected = state.bytes + static_cast<std::int64_t>(bytes);
    if (expected > k_most_bytes)
        fail(fmt::format("a barrier expects {} bytes, at most {} can be counted", expected, k_most_bytes));
    state.pending -= arrivals;
    state.bytes = expected;
    return turn_over(barrier, state);
}

void SharedBarriers::start(const BarrierCopy& copy, bool at_once) {
    (void)read(copy.barrier);
    copies_.push_back(copy);
    if (!at_once) return;
    deliver(copy);
    copies_.back().landed = true;
}

bool SharedBarriers::is_complete(const void* barrier, unsigned parity) {
    return read(barrier).phase != (parity & 1U);
}

bool SharedBarriers::settle(void* barrier) {
    State state = read(barrier);
    if (state.pending != 0 || static_cast<std::size_t>(state.bytes) > bytes_under_way(barrier)) return false;
    for (auto copy = copies_.begin(); state.bytes > 0;) {
        if (copy->barrier != barrier) {
            ++copy;
            continue;
        }
        state.bytes -= static_cast<std::int64_t>(copy->bytes);
        if (state.bytes < 0) fail(fmt::format("copies bring a barrier {} bytes more than it expects", -state.bytes));
        if (!copy->landed) deliver(*copy);
        copy = copies_.erase(copy);
    }
    return turn_over(barrier, state);
}

std::string SharedBarriers::missing(const void* barrier) const {
    const std::optional<State> state = look_at(barrier);
    if (!state) return "was written over";
    return fmt::format("lacks {} arrivals and {} bytes, of which {} are under way", state->pending, state->bytes,
                       bytes_under_way(barrier));
}

std::size_t SharedBarriers::bytes_under_way(const void* barrier) const {
    std::size_t bytes = 0;
    for (const BarrierCopy& copy : copies_)
        bytes += copy.barrier == barrier ? copy.bytes : 0;
    return bytes;
}

}  // namespace tconv::emulator
