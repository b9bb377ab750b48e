#pragma once

#include <cstdint>

namespace tconv::emulator {

/// A small, fast generator for orders (xorshift seeded through SplitMix64), not for statistics.
class Random {
public:
    explicit Random(std::uint64_t seed);

    /// A number below `bound` (1 or more).
    [[nodiscard]] std::uint32_t below(std::uint32_t bound) {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return static_cast<std::uint32_t>((state_ >> 32) * bound >> 32);
    }
    [[nodiscard]] std::uint64_t next();

private:
    std::uint64_t state_;
};

/// One seed from several numbers; any change in one of them changes it all over.
[[nodiscard]] std::uint64_t mix_seed(std::uint64_t seed, std::uint64_t launch, std::uint64_t block);

/// An order of the numbers 0 … count-1 in constant memory: i -> (i * step + start) mod count, step prime to count.
class BlockOrder {
public:
    BlockOrder(std::uint64_t count, std::uint64_t seed);
    [[nodiscard]] std::uint64_t at(std::uint64_t position) const;

private:
    std::uint64_t count_;
    std::uint64_t step_;
    std::uint64_t start_;
};

}  // namespace tconv::emulator
