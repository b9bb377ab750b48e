#include "device/emulator/random_order.hpp"

#include <cassert>
#include <numeric>

namespace tconv::emulator {
namespace {

__extension__ using Wide = unsigned __int128;

std::uint64_t split_mix(std::uint64_t value) {
    value += 0x9e3779b97f4a7c15u;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

}  // namespace

Random::Random(std::uint64_t seed) : state_(split_mix(seed) | 1u) {}

std::uint64_t Random::next() {
    const std::uint64_t high = below(0xffffffffu);
    return high << 32 | below(0xffffffffu);
}

std::uint64_t mix_seed(std::uint64_t seed, std::uint64_t launch, std::uint64_t block) {
    return split_mix(split_mix(split_mix(seed) ^ launch) ^ block);
}

BlockOrder::BlockOrder(std::uint64_t count, std::uint64_t seed) : count_(count) {
    assert(count > 0);
    Random random(seed);
    start_ = random.next() % count;
    do {
        step_ = random.next() % count;
    } while (std::gcd(step_, count) != 1);
}

std::uint64_t BlockOrder::at(std::uint64_t position) const {
    return static_cast<std::uint64_t>((static_cast<Wide>(position) * step_ + start_) % count_);
}

}  // namespace tconv::emulator
