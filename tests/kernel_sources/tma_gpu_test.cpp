#include <algorithm>
#include <memory>

#include "core/launch_plan.hpp"
#include "tests/kernel_sources/copying_gpu.hpp"
#include "tests/support/tensor_boxes.hpp"

// The hardware's copies against their definition and against the emulator's twins.

using namespace tconv;

TEST_CASE("on a GPU a box arrives as its definition and the emulator say") {
    const std::unique_ptr<Device> gpu = test::copying_gpu();
    const auto module = test::build_on(*gpu, test::load_box_source(), test::load_box_kernels());
    const auto twin = test::emulated().build(test::load_box_source(), test::load_box_kernels());
    test::Draw draw(22);
    for (int round = 0; round < test::rounds(300); ++round) {
        const test::BoxCase c = test::draw_box(draw, static_cast<std::size_t>(2 + round % 4));
        INFO("round " << round << ": " << to_string(c.map.element) << ", swizzle " << c.map.swizzle << ", shift "
                      << c.shift << ", " << c.map.extents.size() << " dimensions");
        const auto array = test::array_bytes(draw, c.map);
        const auto found = test::loaded_box(*gpu, *module, c, array);
        const auto expected = test::expected_box(c, array);
        const auto differ = std::mismatch(found.begin(), found.end(), expected.begin());
        INFO("first difference at byte " << differ.first - found.begin() << " of " << found.size());
        CHECK(found == expected);
        CHECK(found == test::loaded_box(*test::emulated().device, *twin, c, array));
    }
}

TEST_CASE("on a GPU a plan's tensor map is bound to the call, and stays so in a recording") {
    const std::unique_ptr<Device> gpu = test::copying_gpu();
    const auto module = test::build_on(*gpu, test::copy_source(), {"copy"});
    const LaunchPlan plan = test::copy_plan();
    test::Draw draw(4);
    for (const std::int64_t batch : {1, 2, 5}) {
        check_plan(plan, test::copy_problem(batch), gpu->info());
        std::vector<float> values(static_cast<std::size_t>(batch * 6 * 32));
        for (float& value : values)
            value = static_cast<float>(draw.between(-99, 99));
        const test::OnDevice in(*gpu, values);
        const test::OnDevice out(*gpu, std::vector<float>(values.size()));
        CallTensors call;
        call.input = in.address();
        call.output = out.address();
        launch_plan(*gpu, *module, plan, batch, call);
        gpu->synchronize();
        CHECK(out.read() == values);

        const test::OnDevice again(*gpu, std::vector<float>(values.size()));
        call.output = again.address();
        const auto recording = gpu->record([&](StreamHandle stream) {
            CallTensors on_stream = call;
            on_stream.stream = stream;
            launch_plan(*gpu, *module, plan, batch, on_stream);
        });
        recording->replay();
        gpu->synchronize();
        CHECK(again.read() == values);
    }
}
