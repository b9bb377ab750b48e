#include <thread>

#include "cache/database.hpp"
#include "core/hash.hpp"
#include "device/driver/driver.hpp"
#include "device/nvrtc/nvrtc.hpp"
#include "kernel_sources/reference.hpp"
#include "kernel_sources/sources.hpp"
#include "runtime/runtime.hpp"
#include "tests/catch.hpp"
#include "tests/device/driver/require_gpu.hpp"
#include "tests/runtime/scatter.hpp"
#include "tests/runtime/stored_winner.hpp"
#include "tests/support/contains.hpp"

namespace {

using namespace tconv;

DevicePointer upload(Device& device, const std::vector<float>& values) {
    const DevicePointer pointer = device.allocate(values.size() * sizeof(float));
    device.copy_to_device(pointer, values.data(), values.size() * sizeof(float));
    return pointer;
}

void check_values(const Kernel& kernel, std::uint64_t seed) {
    const std::unique_ptr<Device> device = open_cuda_device(0);
    HostTensors tensors = random_tensors(kernel.problem(), seed);
    const std::vector<float> expected = scatter(kernel.problem(), tensors);
    const DevicePointer input = upload(*device, tensors.input);
    const DevicePointer weight = upload(*device, tensors.weight);
    const DevicePointer bias = upload(*device, tensors.bias);
    const DevicePointer output = upload(*device, tensors.output);
    const auto address = [](DevicePointer pointer) { return reinterpret_cast<void*>(pointer); };
    kernel.launch({address(input), address(weight), address(bias), address(output), nullptr});
    device->synchronize();
    device->copy_to_host(tensors.output.data(), output, tensors.output.size() * sizeof(float));
    CHECK(tensors.output == expected);
    for (const DevicePointer pointer : {input, weight, bias, output})
        device->release(pointer);
}

// Stores the reference kernel, compiled here by NVRTC, as the winner of `problem`.
void store_winner(const std::string& database, const Problem& problem, const std::string& damage = "") {
    const DeviceInfo info = open_cuda_device(0)->info();
    Trial trial = stored_trial(problem);
    CompileRequest request;
    request.name = k_reference_file;
    request.source = specialise(k_reference_file, problem, trial.config);
    request.architecture = architecture_of(info);
    const CompileResult compiled = make_nvrtc_compiler()->compile(request);
    INFO(compiled.log);
    REQUIRE(compiled.ok);
    const std::string binary = damage.empty() ? compiled.code.code : damage;
    trial.outcome.binary_key = content_hash(binary);
    Database(database, OpenMode::read_write).record(info, trial, binary);
}

}  // namespace

TEST_CASE("on a GPU a problem never tuned runs the embedded reference kernel") {
    require_gpu();
    const test::ScratchFolder folder;
    const std::string database = folder.file("tconv.db");
    (void)Database(database, OpenMode::read_write);
    for (const char* device : {"auto", "cuda:0"}) {
        const Runtime runtime({device, database});
        CHECK_THAT(runtime.device(), contains("multiprocessors"));
        CHECK_FALSE(runtime.emulated());
        const Kernel kernel = runtime.fetch(small_problem());
        CHECK(kernel.rung() == Rung::reference);
        CHECK(kernel.warnings() == "");
        check_values(kernel, 1);
    }
}

TEST_CASE("on a GPU a winner runs from the stored machine code, for its batch and another") {
    require_gpu();
    const test::ScratchFolder folder;
    const std::string database = folder.file("tconv.db");
    store_winner(database, small_problem(2));
    const Runtime runtime({"cuda:0", database});
    const Kernel exact = runtime.fetch(small_problem(2));
    CHECK(exact.warnings() == "");
    CHECK(exact.rung() == Rung::exact);
    check_values(exact, 2);
    const Kernel other = runtime.fetch(small_problem(5));
    CHECK(other.rung() == Rung::other_batch);
    check_values(other, 3);
}

TEST_CASE("on a GPU machine code that does not load is a miss with a warning") {
    require_gpu();
    const test::ScratchFolder folder;
    const std::string database = folder.file("tconv.db");
    store_winner(database, small_problem(), "no machine code");
    const Kernel kernel = Runtime({"cuda:0", database}).fetch(small_problem());
    CHECK(kernel.rung() == Rung::reference);
    CHECK_THAT(kernel.warnings(), contains("neither a cubin nor PTX"));
    check_values(kernel, 4);
}

TEST_CASE("on a GPU threads launch one kernel at once") {
    require_gpu();
    const test::ScratchFolder folder;
    const std::string database = folder.file("tconv.db");
    store_winner(database, small_problem(2));
    const Runtime runtime({"cuda:0", database});
    const Kernel kernel = runtime.fetch(small_problem(2));
    const std::unique_ptr<Device> device = open_cuda_device(0);
    HostTensors tensors = random_tensors(kernel.problem(), 1);
    const std::vector<float> expected = scatter(kernel.problem(), tensors);
    const DevicePointer input = upload(*device, tensors.input);
    const DevicePointer weight = upload(*device, tensors.weight);
    const DevicePointer bias = upload(*device, tensors.bias);
    std::vector<DevicePointer> outputs(8);
    for (DevicePointer& output : outputs)
        output = upload(*device, tensors.output);
    const auto address = [](DevicePointer pointer) { return reinterpret_cast<void*>(pointer); };
    std::vector<std::thread> threads;
    for (const DevicePointer output : outputs) {
        threads.emplace_back([&, output] {
            for (int i = 0; i < 100; ++i)
                kernel.launch({address(input), address(weight), address(bias), address(output), nullptr});
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    device->synchronize();
    for (const DevicePointer output : outputs) {
        device->copy_to_host(tensors.output.data(), output, tensors.output.size() * sizeof(float));
        CHECK(tensors.output == expected);
    }
}
