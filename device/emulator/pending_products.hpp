#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/emulator/emulator_abi.hpp"

namespace tconv::emulator {

/// The matrix products that one CUDA thread has started. Operands are read when they are waited for and no sooner, so
/// that a kernel which gives an operand's memory away too early multiplies something else.
class PendingProducts {
public:
    void start(const tconv_emulator::Product& product, float* sums, const tconv_emulator::LeftOperand& a,
               std::uint64_t b, int add) {
        products_.push_back({product, sums, a, b, add});
    }
    void commit() { group_ends_.push_back(products_.size()); }
    /// Computes all groups but the most recent `groups`, of one thread of a warpgroup.
    void wait(int groups, std::uint32_t thread);
    void clear();

private:
    struct One {
        tconv_emulator::Product product;
        float* sums;
        tconv_emulator::LeftOperand a;
        std::uint64_t b;
        int add;
    };
    std::vector<One> products_;            // of every pending group, oldest first, then those not committed
    std::vector<std::size_t> group_ends_;  // numbers of products up to the end of each pending group
};

}  // namespace tconv::emulator
