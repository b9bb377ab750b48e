#include <array>

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
            INFO(space.name());
            test::check_drawn(
                space, draw, p, 1, [](const Config&) { return true; }, machine);
        }
    }
}

TEST_CASE("on a GPU positions whose outputs begin at a multiple of the stride are exact") {
    require_gpu();
    const auto device = open_cuda_device(0);
    if (device->info().compute_major != 9) return;
    const test::Machine machine = gpu_machine(*device);
    const SearchSpace& space = test::space_named("hopper");
    test::Draw draw(67);
    for (const char* text : {"1d n3 ci70 co64 g1 i64 k4 s2 p1 op0 d1 bias f16 nchw",
                             "1d n2 ci130 co32 g1 i36 k8 s4 p2 op0 d1 bias f32 nchw",
                             "2d n2 ci72 co32 g1 i7x16 k3x4 s2x2 p1x1 op1x0 d1x1 bias bf16 nchw"}) {
        const Problem p = parse_key(text);
        test::check_drawn(
            space, draw, p, 1, [](const Config& drawn) { return drawn.at("join") >= 5; }, machine);
    }
}

TEST_CASE("on a GPU taps as columns are exact") {
    require_gpu();
    const auto device = open_cuda_device(0);
    if (device->info().compute_major != 9) return;
    const test::Machine machine = gpu_machine(*device);
    const SearchSpace& space = test::space_named("hopper");
    test::Draw draw(69);
    for (const char* text : {"3d n2 ci48 co24 g1 i20x30x96 k3x3x3 s1x1x1 p0x0x0 op0x0x0 d1x1x1 bias f16 nhwc",
                             "3d n2 ci48 co24 g1 i20x30x96 k3x3x3 s1x1x1 p1x1x1 op0x0x0 d1x1x1 nobias f32 nchw",
                             "3d n2 ci72 co20 g1 i30x9x24 k2x4x3 s1x2x1 p0x1x2 op0x0x0 d1x1x1 bias bf16 nchw"}) {
        const Problem p = parse_key(text);
        for (const std::int64_t columns : {1, 2}) {
            test::check_drawn(
                space, draw, p, test::rounds(8),
                [&](const Config& drawn) { return drawn.at("tap_columns") == columns; }, machine);
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

TEST_CASE("on a GPU stages that boxes refill at once give the same bits in two thousand calls") {
    require_gpu();
    const auto device = open_cuda_device(0);
    if (device->info().compute_major != 9) return;
    const test::Machine machine = gpu_machine(*device);
    const SearchSpace& space = test::space_named("mma");
    const Problem p = parse_key("3d n2 ci64 co32 g1 i64x64x64 k2x2x2 s2x2x2 p0x0x0 op0x0x0 d1x1x1 bias f16 nhwc");
    // One chunk of channels a tile: a stage is refilled while the slowest warp has just read it.
    Config config;
    for (const Config& each : space.defaults(p, device->info()))
        config = each;
    for (const auto& [name, value] :
         Config{{"channel_chunk", 64}, {"direct_store", 0},   {"joined_axes", 3}, {"load_vector", 1},
                {"loads", 1},          {"m_fragments", 3},    {"math", 0},        {"min_blocks", 1},
                {"n_fragments", 1},    {"packed_columns", 0}, {"persistent", 1},  {"resident_weights", 1},
                {"reuse_rows", 0},     {"row_pairs", 0},      {"stages", 4},      {"store_window", 0},
                {"tap_pairs", 0},      {"tile_d", 4},         {"tile_h", 1},      {"tile_n", 1},
                {"tile_w", 12},        {"unroll_taps", 1},    {"warps_m", 1},     {"warps_n", 4}})
        config[name] = value;
    REQUIRE(space.violation(p, device->info(), config) == "");
    const LaunchPlan plan = space.plan(p, device->info(), config);
    const auto kernel = machine.build(specialise(plan, p, config), kernel_names(plan));
    const auto counter = machine.build(
        "extern \"C\" __global__ void count_unequal(const unsigned* a, const unsigned* b, long long n, unsigned* "
        "count) {\n"
        "    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll)\n"
        "        if (a[i] != b[i]) atomicAdd(count, 1u);\n"
        "}\n",
        {"count_unequal"});

    test::Draw draw(65);
    const auto random = [&](std::int64_t count) {
        return test::elements_of(p.dtype, test::draw_integers(draw, count, 8));
    };
    const test::PlacedTensor in(*device, random(input_elements(p)), plan.alignment);
    const test::PlacedTensor weight(*device, random(weight_elements(p)), plan.alignment);
    const test::PlacedTensor bias(*device, random(bias_elements(p)), plan.alignment);
    const auto bytes = static_cast<std::size_t>(output_elements(p) * size_in_bytes(p.dtype));
    const std::vector<std::uint8_t> blank(bytes, 0xff);
    const test::OnDevice first(*device, blank);
    const test::OnDevice again(*device, blank);
    const test::OnDevice packed(*device,
                                std::vector<std::uint8_t>(static_cast<std::size_t>(plan.packed_weight_bytes), 0xff));
    const test::OnDevice count(*device, std::vector<unsigned>(1, 0u));
    const auto call = [&](DevicePointer output) {
        launch_plan(*device, *kernel, plan, p.batch,
                    {in.address(), weight.address(), bias.address(), output, 0, packed.address()});
    };
    call(first.address());
    for (int i = 0; i < 2000; ++i) {
        device->fill(again.address(), 0xff, bytes);
        call(again.address());
        DevicePointer a = first.address();
        DevicePointer b = again.address();
        DevicePointer c = count.address();
        auto words = static_cast<long long>(bytes / 4);
        std::array<void*, 4> arguments{&a, &b, &words, &c};
        device->launch(*counter, "count_unequal", {{2048, 1, 1}, {256, 1, 1}}, arguments.data(), nullptr);
    }
    device->synchronize();
    CHECK(count.read().front() == 0u);
}
