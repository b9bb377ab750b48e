#include "device/launch.hpp"

#include <array>

#include "core/error.hpp"

namespace tconv {
namespace {

constexpr std::size_t k_max_arguments = 64;

/// Storage for the arguments of one launch, without allocating: an address, a batch or a pointer to a plan's values
/// each.
struct PackedArguments {
    std::array<DevicePointer, k_max_arguments> addresses{};
    std::array<void*, k_max_arguments> pointers{};
    int batch = 0;
};

DevicePointer address_of(const Argument& argument, const CallTensors& tensors) {
    switch (argument.kind) {
        case ArgumentKind::input:
            return tensors.input;
        case ArgumentKind::weight:
            return tensors.weight;
        case ArgumentKind::bias:
            return tensors.bias;
        case ArgumentKind::output:
            return tensors.output;
        case ArgumentKind::workspace:
            return tensors.workspace + static_cast<DevicePointer>(argument.offset);
        case ArgumentKind::packed_weight:
            return tensors.packed_weight + static_cast<DevicePointer>(argument.offset);
        case ArgumentKind::batch:
        case ArgumentKind::values:
            break;
    }
    return 0;
}

void pack(const Launch& launch, const CallTensors& tensors, PackedArguments& packed) {
    if (launch.arguments.size() > k_max_arguments)
        throw Error(ErrorKind::device, launch.kernel + " takes too many arguments");
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
        const Argument& argument = launch.arguments[i];
        packed.addresses[i] = address_of(argument, tensors);
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
    for (const Launch& launch : plan.launches) {
        if (part != PlanPart::all && launch.weights_only != (part == PlanPart::weights_only)) continue;
        pack(launch, tensors, packed);
        device.launch(module, launch.kernel, {grid_for(launch, batch), launch.block, launch.shared_bytes},
                      packed.pointers.data(), tensors.stream);
    }
}

}  // namespace tconv
