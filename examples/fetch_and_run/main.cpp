// Fetches the best stored kernel for one layer, runs it and checks every output.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <limits>
#include <vector>

#include <tconv/runtime/runtime.hpp>

#include "arguments.hpp"
#include "buffer.hpp"
#include "check.hpp"

namespace {

/// Runs the kernel once and returns the output.
std::vector<float> run(const tconv::Kernel& kernel, const HostTensors& host, bool on_gpu, double& milliseconds) {
    const Buffer input(host.input, on_gpu);
    const Buffer weight(host.weight, on_gpu);
    const Buffer bias(host.bias, on_gpu);
    // Whatever the kernel leaves unwritten stays NaN and shows in the check.
    const auto outputs = static_cast<std::size_t>(tconv::output_elements(kernel.problem()));
    const Buffer output(std::vector<float>(outputs, std::numeric_limits<float>::quiet_NaN()), on_gpu);
    const auto workspace_floats = static_cast<std::size_t>((kernel.workspace_bytes_prepared() + 3) / 4);
    const Buffer workspace(std::vector<float>(workspace_floats), on_gpu);

    const tconv::Tensors tensors{input.address(), weight.address(), bias.address(), output.address(),
                                 workspace.address()};
    // The weight stays the same, so what the kernel makes of it is made once: nothing, for many kernels.
    const auto packed_floats = static_cast<std::size_t>((kernel.packed_weight_bytes() + 3) / 4);
    const Buffer packed(std::vector<float>(packed_floats), on_gpu);
    const tconv::PreparedWeights weights = kernel.prepare(weight.address(), packed.address());
    milliseconds = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 5; ++i) {
        const auto start = std::chrono::steady_clock::now();
        kernel.launch(tensors, weights);
        wait(on_gpu);
        const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
        milliseconds = std::min(milliseconds, taken.count());
    }
    return output.download();
}

int run_example(const Arguments& arguments) {
    select_device(arguments.device);
    const tconv::Runtime runtime({arguments.device, arguments.database});
    const tconv::Math math = arguments.strict ? tconv::Math::strict : tconv::Math::any;
    const tconv::Kernel kernel = runtime.fetch(arguments.problem, arguments.tolerance, math);
    std::printf("device:  %s\nproblem: %s\nrung:    %s\nkernel:  %s\n", runtime.device().c_str(),
                key(kernel.problem()).c_str(), to_string(kernel.rung()), kernel.description().c_str());
    if (!kernel.warnings().empty()) std::printf("warning: %s\n", kernel.warnings().c_str());

    const HostTensors host = random_tensors(kernel.problem());
    double milliseconds = 0;
    const std::vector<float> output = run(kernel, host, !runtime.emulated(), milliseconds);
    const double error = largest_error(kernel.problem(), host, output);
    const double allowed = arguments.tolerance < 0 ? default_tolerance(kernel.problem().dtype) : arguments.tolerance;
    const bool right = error <= allowed;  // false for NaN
    std::printf("time:    %.4g ms%s\nerror:   %.2e, at most %.0e allowed\n%s\n", milliseconds,
                runtime.emulated() ? " (emulated)" : "", error, allowed, right ? "right" : "WRONG");
    return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run_example(parse_arguments(argc, argv));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "fetch_and_run: %s\n", error.what());
        return 1;
    }
}
