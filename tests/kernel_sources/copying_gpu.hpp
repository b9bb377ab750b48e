#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "device/driver/driver.hpp"
#include "device/nvrtc/nvrtc.hpp"
#include "tests/catch.hpp"
#include "tests/device/driver/require_gpu.hpp"

namespace tconv::test {

/// The first GPU; ends the process as skipped where it has no copy engine.
[[nodiscard]] inline std::unique_ptr<Device> copying_gpu() {
    require_gpu();
    std::unique_ptr<Device> device = open_cuda_device(0);
    if (device->info().compute_major >= 9) return device;
    std::printf("Skipped: %s has no tensor maps\n", device->info().name.c_str());
    std::fflush(stdout);
    std::_Exit(77);
}

[[nodiscard]] inline std::unique_ptr<Module> build_on(Device& device, const std::string& source,
                                                      const std::vector<std::string>& kernels) {
    CompileRequest request;
    request.name = "test.cu";
    request.source = source;
    request.kernels = kernels;
    request.architecture = architecture_of(device.info());
    const CompileResult compiled = make_nvrtc_compiler()->compile(request);
    INFO(compiled.log);
    REQUIRE(compiled.ok);
    return device.load(compiled.code);
}

}  // namespace tconv::test
