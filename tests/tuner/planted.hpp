#pragma once

#include <string>

#include "core/launch_plan.hpp"
#include "core/problem.hpp"

namespace tconv::test {

/// A small right kernel (one thread an output, fp32) with places where a fault can be planted.
enum class Fault {
    none,
    weight_off_by_stride,  ///< reads the weight of the next output channel
    mirrored_tap,          ///< flips the kernel along w
    unwritten_border,      ///< leaves the last column alone
    race,                  ///< adds through a shared word without a barrier
    read_past_end,         ///< takes one input channel too many at the end
    write_past_end,        ///< writes one element behind the output
    write_before_start,
    lost_bias,
    not_a_number,
    deadlock,  ///< half the threads skip a barrier
    does_not_compile,
    too_much_shared_memory,
};

[[nodiscard]] inline std::string planted_source(Fault fault) {
    return "constexpr int fault = " + std::to_string(static_cast<int>(fault)) + ";\n" +
           (fault == Fault::does_not_compile ? "int x = ;\n" : "") + R"cuda(
struct Shape { long long c_in, c_out, in_w, out_w, k, s, p, d; };
extern "C" __global__ void planted(const float* x, const float* w, const float* b, float* y, Shape f, int batch) {
    __shared__ float word;
    const long long count = batch * f.c_out * f.out_w;
    const long long index = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (fault == 10) {
        if (threadIdx.x % 2 == 0) __syncthreads();
    }
    float sum = 0;
    const long long o = index % f.out_w, c = index / f.out_w % f.c_out, n = index / f.out_w / f.c_out;
    if (index < count) {
        for (long long k = 0; k < f.k; ++k) {
            const long long at = o + f.p - k * f.d;
            if (at < 0 || at % f.s != 0 || at / f.s >= f.in_w) continue;
            const long long tap = fault == 2 ? f.k - 1 - k : k;
            const long long channels = f.c_in + (fault == 5 ? 1 : 0);
            for (long long i = 0; i < channels; ++i) {
                const long long out = fault == 1 ? (c + 1) % f.c_out : c;
                const long long weight_channel = i < f.c_in ? i : f.c_in - 1;
                sum += x[(n * f.c_in + i) * f.in_w + at / f.s] * w[(weight_channel * f.c_out + out) * f.k + tap];
            }
        }
        if (b && fault != 8) sum += b[c];
    }
    if (fault == 4) {
        // Each thread should see its own value; the last to write wins instead.
        word = sum;
        __syncthreads();
        if (threadIdx.x == 0) word = 0;
        word = word + sum;
        __syncthreads();
        sum = word;
    }
    if (index < count && !(fault == 3 && o == f.out_w - 1)) y[index] = fault == 9 && o == 1 ? 0.0f / 0.0f * sum : sum;
    if (fault == 6 && index == 0) y[count] = 1;
    if (fault == 7 && index == 0) y[-1] = 1;
}
)cuda";
}

/// A 1-D problem that the planted kernel computes: no groups, unequal in everything.
[[nodiscard]] inline Problem planted_problem() {
    Problem p;
    p.spatial_axes = 1;
    p.batch = 2;
    p.in_channels = 3;
    p.out_channels = 5;
    p.input = {1, 1, 7};
    p.kernel = {1, 1, 4};
    p.stride = {1, 1, 2};
    p.padding = {0, 0, 1};
    p.bias = true;
    return p;
}

[[nodiscard]] inline LaunchPlan planted_plan(const Problem& p, Fault fault = Fault::none) {
    Launch launch;
    launch.kernel = "planted";
    launch.block = {64, 1, 1};
    const std::int64_t outputs = output_elements(p);
    launch.grid = {(outputs + 63) / 64, 1, 1};
    launch.batch_axis = -1;
    launch.shared_bytes = fault == Fault::too_much_shared_memory ? std::int64_t{1} << 20 : 0;
    launch.arguments = {{ArgumentKind::input, 0, {}},
                        {ArgumentKind::weight, 0, {}},
                        {ArgumentKind::bias, 0, {}},
                        {ArgumentKind::output, 0, {}},
                        {ArgumentKind::values,
                         0,
                         {p.in_channels, p.out_channels, p.input[2], output_extents(p)[2], p.kernel[2], p.stride[2],
                          p.padding[2], p.dilation[2]}},
                        {ArgumentKind::batch, 0, {}}};
    LaunchPlan plan;
    plan.source_file = "planted.cu";
    plan.launches = {launch};
    return plan;
}

}  // namespace tconv::test
