#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "device/launch.hpp"
#include "tuner/guarded_buffer.hpp"
#include "tuner/support_kernels.hpp"

namespace tconv {

/// Input, weight and bias of one distribution, each between guard zones, and what tells whether a kernel wrote to them.
class TestTensors {
public:
    /// For `batch` entries, which may be another number than the problem's: common entries are equal, those beyond the
    /// problem's batch are its first ones again. Addresses are multiples of `alignment` and of no larger power of two.
    TestTensors(Device& device, SupportKernels& support, const Problem& problem, Distribution distribution,
                std::uint64_t seed, std::int64_t batch, std::int64_t alignment);

    /// Moves the tensors to another alignment.
    void place(std::int64_t alignment);
    /// Writes the values and the guard zones again.
    void restore();
    /// The tensors, in the order in which `take_changes` takes their digests.
    [[nodiscard]] std::vector<SupportKernels::Span> spans() const;
    /// Names of the tensors that a kernel wrote to, by their digests, which are restored; empty where all are as they
    /// were.
    [[nodiscard]] std::string take_changes(const std::vector<std::uint64_t>& found);

    [[nodiscard]] std::int64_t batch() const { return batch_; }
    [[nodiscard]] GuardedBuffer& input() { return tensors_[0].buffer; }
    [[nodiscard]] GuardedBuffer& weight() { return tensors_[1].buffer; }
    [[nodiscard]] GuardedBuffer& bias() { return tensors_[2].buffer; }
    /// The arguments of a call; a bias that the problem lacks is 0.
    [[nodiscard]] CallTensors call(const GuardedBuffer& output, const GuardedBuffer& workspace,
                                   const GuardedBuffer& packed_weight) const;

private:
    struct Tensor {
        std::int64_t elements;
        TestValues values;
        std::uint64_t seed;
        GuardedBuffer buffer;
    };

    [[nodiscard]] Tensor make(TestTensor tensor) const;
    void fill();

    Device& device_;
    SupportKernels& support_;
    Problem problem_;
    Distribution distribution_;
    std::uint64_t seed_;
    std::int64_t batch_;
    std::array<Tensor, 3> tensors_;
    std::vector<std::uint64_t> expected_;
};

}  // namespace tconv
