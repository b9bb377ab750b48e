#include "device/launch.hpp"

#include <array>

#include "core/error.hpp"

namespace tconv {
namespace {

constexpr std::size_t k_max_arguments = 64;

/// Storage for the arguments of one launch, without allocating: an address, a batch, a tensor map or a pointer to a
/// plan's values each.
struct PackedArguments {
    std::array<DevicePointer, k_max_arguments> addresses{};
    std::array<void*, k_max_arguments> pointers{};
    std::array<EncodedTensorMap, k_most_tensor_maps> maps;
    int batch = 0;
};

DevicePointer address_of(ArgumentKind kind, std::int64_t offset, const CallTensors& tensors) {
    const auto past = static_cast<DevicePointer>(offset);
    switch (kind) {
        case ArgumentKind::input:
            return tensors.input + past;
        case ArgumentKind::weight:
            return tensors.weight + past;
        case ArgumentKind::bias:
            return tensors.bias;
        case ArgumentKind::output:
            return tensors.output + past;
        case ArgumentKind::workspace:
            return tensors.workspace + past;
        case ArgumentKind::packed_weight:
            return tensors.packed_weight + past;
        case ArgumentKind::batch:
        case ArgumentKind::values:
        case ArgumentKind::tensor_map:
            break;
    }
    return 0;
}

void pack(Device& device, const Launch& launch, const CallTensors& tensors, PackedArguments& packed) {
    if (launch.arguments.size() > k_max_arguments)
        throw Error(ErrorKind::device, launch.kernel + " takes too many arguments");
    std::size_t maps = 0;
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
        const Argument& argument = launch.arguments[i];
        if (argument.kind == ArgumentKind::tensor_map) {
            if (maps == packed.maps.size())
                throw Error(ErrorKind::device, launch.kernel + " takes too many tensor maps");
            EncodedTensorMap& map = packed.maps[maps++];
            map = device.encode(argument.map, packed.batch, address_of(argument.mapped, argument.offset, tensors));
            packed.pointers[i] = &map;
            continue;
        }
        packed.addresses[i] = address_of(argument.kind, argument.offset, tensors);
        packed.pointers[i] = &packed.addresses[i];
        if (argument.kind == ArgumentKind::batch) packed.pointers[i] = &packed.batch;
        // The launch only reads what the pointers point at.
        if (argument.kind == ArgumentKind::values)
            packed.pointers[i] = const_cast<std::int64_t*>(argument.values.data());
    }
}

}  // namespace

void launch_plan(Device& device, Module& module, const LaunchPlan& plan, std::int64_t batch, const CallTensors& tensors,
                 PlanPart part) {
    PackedArguments packed;
    packed.batch = static_cast<int>(batch);
    bool first = true;  // of this call: it waits for all that was enqueued before
    for (const Launch& launch : plan.launches) {
        if (part != PlanPart::all && launch.weights_only != (part == PlanPart::weights_only)) continue;
        pack(device, launch, tensors, packed);
        const bool overlaps = launch.overlaps && !first;
        first = false;
        device.launch(module, launch.kernel,
                      {grid_for(launch, batch), launch.block, launch.shared_bytes, overlaps, launch.cluster},
                      packed.pointers.data(), tensors.stream);
    }
}

}  // namespace tconv
