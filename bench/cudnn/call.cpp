#include "bench/cudnn/call.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "core/error.hpp"

namespace tconv::cudnn {
namespace {

constexpr std::int64_t k_part_alignment = 256;

std::int64_t volume(const Extents& extents) {
    return extents[0] * extents[1] * extents[2];
}

std::int64_t rounded_up(std::int64_t bytes) {
    return (bytes + k_part_alignment - 1) / k_part_alignment * k_part_alignment;
}

}  // namespace

Session::Session(Device& device, Builder& builder, const Library& opened, const Context& where)
    : library(opened), context(where), kernels(device, builder) {
    const Context::Current current(context);
    handles_.push_back(library.create_handle());
}

Session::~Session() {
    try {
        const Context::Current current(context);
        handles_.clear();
    } catch (const Error&) {
        // The device has failed for good, and the handle with it.
    }
}

const std::vector<std::shared_ptr<void>>& Session::handles_for(std::size_t plans) {
    const std::size_t wanted = std::min<std::size_t>(plans, std::max(1U, std::thread::hardware_concurrency()));
    const Context::Current current(context);
    while (handles_.size() < wanted)
        handles_.push_back(library.create_handle());
    return handles_;
}

void* Session::handle_on(StreamHandle stream) {
    if (stream != stream_) {
        library.set_stream(handle(), stream);
        stream_ = stream;
    }
    return handle();
}

std::string name_of(const Variant& variant, const Problem& problem) {
    std::string name(to_string(variant.tensors));
    if (variant.weight != variant.tensors) name += variant.weight == Layout::nchw ? ", weight kcrs" : ", weight krsc";
    if (problem.bias) name += variant.fused_bias ? ", bias fused" : ", bias after";
    if (variant.tensors != problem.layout) name += ", transposed";
    return name;
}

Call::Call(std::shared_ptr<Session> session, const Problem& problem, const Variant& variant, Plan&& plan)
    : session_(std::move(session)), problem_(problem), variant_(variant), plan_(std::move(plan)) {
    workspace_bytes_ = plan_.workspace_bytes();
    const bool transposed = variant.tensors != problem.layout;
    input_ = relaid(problem.batch, problem.in_channels, volume(problem.input), transposed);
    output_ = relaid(problem.batch, problem.out_channels, volume(output_extents(problem)), transposed);
    weight_ = relaid(problem.in_channels, problem.out_channels / problem.groups, volume(problem.kernel),
                     variant.weight != problem.layout);
    place(input_);
    place(output_);
}

Call::Relaid Call::relaid(std::int64_t batch, std::int64_t channels, std::int64_t positions, bool differs) const {
    // With one channel or one position both orders are the same in memory.
    return {differs && channels > 1 && positions > 1,
            batch,
            channels,
            positions,
            batch * channels * positions * size_in_bytes(problem_.dtype),
            0};
}

void Call::place(Relaid& tensor) {
    if (!tensor.needed) return;
    tensor.offset = rounded_up(workspace_bytes_);
    workspace_bytes_ = tensor.offset + tensor.bytes;
}

void Call::lay_out(const Relaid& tensor, Layout wanted, DevicePointer source, DevicePointer target,
                   StreamHandle stream) {
    const bool to_last = wanted == Layout::nhwc;
    session_->kernels.transpose(problem_.dtype, source, target, tensor.batch,
                                to_last ? tensor.channels : tensor.positions,
                                to_last ? tensor.positions : tensor.channels, stream);
}

void Call::pack(const CallTensors& tensors) {
    if (weight_.needed) lay_out(weight_, variant_.weight, tensors.weight, tensors.packed_weight, tensors.stream);
}

void Call::run_packed(const CallTensors& tensors) {
    PlanTensors seen;
    seen.input = tensors.input;
    if (input_.needed) {
        seen.input = tensors.workspace + static_cast<DevicePointer>(input_.offset);
        lay_out(input_, variant_.tensors, tensors.input, seen.input, tensors.stream);
    }
    seen.weight = weight_.needed ? tensors.packed_weight : tensors.weight;
    seen.bias = variant_.fused_bias ? tensors.bias : 0;
    seen.output = output_.needed ? tensors.workspace + static_cast<DevicePointer>(output_.offset) : tensors.output;
    seen.workspace = tensors.workspace;
    {
        const Context::Current current(session_->context);
        plan_.execute(session_->handle_on(tensors.stream), seen);
    }
    finish_output(tensors, seen.output);
}

void Call::finish_output(const CallTensors& tensors, DevicePointer computed) {
    if (output_.needed) lay_out(output_, problem_.layout, computed, tensors.output, tensors.stream);
    if (!problem_.bias || variant_.fused_bias) return;
    session_->kernels.add_bias(problem_.dtype, tensors.output, tensors.bias, output_elements(problem_),
                               problem_.out_channels, problem_.layout == Layout::nchw ? output_.positions : 1,
                               tensors.stream);
}

}  // namespace tconv::cudnn
