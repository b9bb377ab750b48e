#include "tuner/device_kernels.hpp"

#include <fmt/format.h>

#include "core/error.hpp"

namespace tconv {

std::unique_ptr<Module> load_kernel_file(Device& device, Builder& builder, const std::string& file,
                                         const std::vector<std::string>& kernels) {
    const CompileResult result = builder.build_file(file, kernels);
    if (!result.ok) throw Error(ErrorKind::compile, fmt::format("{} does not compile: {}", file, result.log));
    return device.load(result.code);
}

LaunchGeometry filling_geometry(const DeviceInfo& device) {
    LaunchGeometry geometry;
    // On the emulator a thread costs more than its work: few threads, long strides.
    const bool emulated = device.kind == DeviceKind::emulator;
    geometry.grid = {emulated ? 4 : std::int64_t{device.multiprocessors} * 8, 1, 1};
    geometry.block = {emulated ? 32 : 256, 1, 1};
    return geometry;
}

}  // namespace tconv
