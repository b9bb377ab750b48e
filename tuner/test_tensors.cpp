#include "tuner/test_tensors.hpp"

#include <algorithm>

namespace tconv {
namespace {

constexpr std::array<const char*, 3> k_names{"input", "weight", "bias"};

std::int64_t elements_of(const Problem& problem, std::int64_t batch, TestTensor tensor) {
    Problem p = problem;
    p.batch = batch;
    if (tensor == TestTensor::input) return input_elements(p);
    return tensor == TestTensor::weight ? weight_elements(p) : bias_elements(p);
}

}  // namespace

TestTensors::TestTensors(Device& device, SupportKernels& support, const Problem& problem, Distribution distribution,
                         std::uint64_t seed, std::int64_t batch, std::int64_t alignment)
    : device_(device),
      support_(support),
      problem_(problem),
      distribution_(distribution),
      seed_(seed),
      batch_(batch),
      tensors_{make(TestTensor::input), make(TestTensor::weight), make(TestTensor::bias)} {
    place(alignment);
    expected_ = support_.digests(problem_.dtype, spans());
}

TestTensors::Tensor TestTensors::make(TestTensor tensor) const {
    const std::int64_t elements = elements_of(problem_, batch_, tensor);
    // Streams differ by distribution and tensor, so that no two tensors are equal.
    const std::uint64_t seed =
        seed_ * 64 + static_cast<std::uint64_t>(distribution_) * 8 + static_cast<std::uint64_t>(tensor);
    return {elements, test_values(problem_, distribution_, tensor), seed,
            GuardedBuffer(device_, static_cast<std::size_t>(elements * size_in_bytes(problem_.dtype)))};
}

void TestTensors::fill() {
    for (const Tensor& t : tensors_) {
        if (t.elements > 0) support_.fill_random(problem_.dtype, t.buffer.address(), t.elements, t.values, t.seed);
    }
}

void TestTensors::place(std::int64_t alignment) {
    for (Tensor& tensor : tensors_)
        tensor.buffer.place(alignment);
    fill();
}

void TestTensors::restore() {
    for (Tensor& tensor : tensors_)
        tensor.buffer.restore_zones();
    fill();
}

std::vector<SupportKernels::Span> TestTensors::spans() const {
    std::vector<SupportKernels::Span> spans;
    for (const Tensor& tensor : tensors_)
        spans.push_back({tensor.buffer.address(), tensor.elements});
    return spans;
}

std::string TestTensors::take_changes(const std::vector<std::uint64_t>& found) {
    if (found == expected_) return {};
    std::string names;
    for (std::size_t i = 0; i < k_names.size(); ++i) {
        if (found[i] == expected_[i]) continue;
        if (!names.empty()) names += " and the ";
        names += k_names.at(i);
    }
    fill();
    return names;
}

CallTensors TestTensors::call(const GuardedBuffer& output, const GuardedBuffer& workspace,
                              const GuardedBuffer& packed_weight) const {
    return {tensors_[0].buffer.address(),
            tensors_[1].buffer.address(),
            problem_.bias ? tensors_[2].buffer.address() : 0,
            output.address(),
            workspace.address(),
            packed_weight.address()};
}

}  // namespace tconv
