#include "device/driver/driver.hpp"
#include "device/nvrtc/nvrtc.hpp"
#include "tests/catch.hpp"
#include "tests/device/driver/require_gpu.hpp"
#include "tests/search_spaces/exact.hpp"
#include "tests/search_spaces/typed_problems.hpp"

using namespace tconv;

namespace {

/// Builds kernels for the GPU.
test::Machine gpu_machine(Device& device) {
    return {device, [&device](const std::string& source, const std::vector<std::string>& kernels) {
                static const auto compiler = make_nvrtc_compiler();
                CompileRequest request;
                request.name = "kernel.cu";
                request.source = source;
                request.kernels = kernels;
                request.architecture = architecture_of(device.info());
                const CompileResult compiled = compiler->compile(request);
                if (!compiled.ok) throw Error(ErrorKind::compile, compiled.log);
                return device.load(compiled.code);
            }};
}

}  // namespace

TEST_CASE("on a GPU configs of every family are exact on random problems") {
    require_gpu();
    const auto device = open_cuda_device(0);
    const test::Machine machine = gpu_machine(*device);
    for (const SearchSpace& space : load_search_spaces()) {
        test::Draw draw(61);
        for (int round = 0; round < test::rounds(15); ++round) {
            const Problem p = test::draw_wide_problem(draw);
            if (!space.refusal(p, device->info()).empty()) continue;
            const auto config = test::draw_config(
                space, draw, p, [](const Config&) { return true; }, device->info());
            INFO(space.name() << " | " << key(p));
            REQUIRE(config.has_value());
            test::check_exact(space, draw, p, *config, 8, machine);
        }
    }
}

TEST_CASE("on a GPU upsampling layers are exact with positions in order and tensors as they lie") {
    require_gpu();
    const auto device = open_cuda_device(0);
    if (device->info().compute_major != 9) return;
    const test::Machine machine = gpu_machine(*device);
    const SearchSpace& space = test::space_named("hopper");
    test::Draw draw(63);
    for (const char* parameter : {"flat", "raw_input", "raw_weights", "resident"}) {
        int checked = 0;
        while (checked < test::rounds(8)) {
            const Problem p = draw.chance(50) ? test::draw_upsampling(draw) : test::draw_channels_last(draw);
            const auto accept = [&](const Config& drawn) { return drawn.at(parameter) == 1; };
            const auto config = test::draw_config(space, draw, p, accept, device->info());
            if (!config) continue;
            INFO(parameter);
            test::check_exact(space, draw, p, *config, 8, machine);
            ++checked;
        }
    }
}
