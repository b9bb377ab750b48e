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
    unwritten_places,       ///< leaves every third output as it was
    read_before_start,      ///< adds the word before the input
    right_once,             ///< wrong from the second launch on
    differs_by_run,         ///< every second launch is off by a part in 10^6
    wrong_for_negative,     ///< takes the inputs' size
    wrong_for_large,        ///< wrong where an input is above 600
    wrong_for_positive,     ///< wrong where no input of a batch entry is negative
    inexact,                ///< off by a part in 2^21
    hard_coded_batch,       ///< computes two entries, whatever the batch
    wrong_for_other_batch,  ///< off by a part in 10^6 where the batch is not two
    needs_alignment,        ///< loads 16 bytes at the input's start
    depends_on_alignment,   ///< off by a part in 10^6 where the output is not aligned to 16 bytes
    write_past_workspace,
    stale_workspace,  ///< adds a word of the workspace that nobody wrote
    write_input,
    write_weight,
    write_bias,
};

[[nodiscard]] inline std::string planted_source(Fault fault) {
    return "constexpr int fault = " + std::to_string(static_cast<int>(fault)) + ";\n" +
           (fault == Fault::does_not_compile ? "int x = ;\n" : "") + R"cuda(
struct Shape { long long c_in, c_out, in_w, out_w, k, s, p, d, counter, first_launch; };
__device__ float first_of_four(const float* address) {
#ifdef TCONV_EMULATOR
    tconv_emulator::check_alignment(address, 16, "vector load", __LINE__);
    return *address;
#else
    return reinterpret_cast<const float4*>(address)->x;
#endif
}
extern "C" __global__ void planted(float* x, float* w, float* b, float* y, float* workspace, Shape f, int batch) {
    __shared__ float word;
    const long long count = (fault == 21 ? 2 : batch) * f.c_out * f.out_w;
    const long long input_count = batch * f.c_in * f.in_w;
    int threads_before = 0;
    if (fault == 15 || fault == 16) threads_before = atomicAdd(reinterpret_cast<int*>(f.counter), 1);
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
                float value = x[(n * f.c_in + i) * f.in_w + at / f.s];
                if (fault == 17 && value < 0) value = -value;
                if (fault == 18 && value > 600) value = 600;
                sum += value * w[(weight_channel * f.c_out + out) * f.k + tap];
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
    if (fault == 14 && index == 0) sum += x[-1];
    if (fault == 15 && threads_before >= f.first_launch) sum += 1;
    if (fault == 16 && threads_before / f.first_launch % 2 == 1) sum *= 1.000001f;
    if (fault == 19 && index < count) {
        bool any_negative = false;
        for (long long i = 0; i < f.c_in * f.in_w; ++i)
            any_negative |= x[n * f.c_in * f.in_w + i] < 0;
        if (!any_negative) sum *= 1.01f;
    }
    if (fault == 20) sum *= 1 + 1.0f / (1 << 21);
    if (fault == 22 && batch != 2) sum *= 1.000001f;
    if (fault == 23 && first_of_four(x) == 123.456f) sum = 0;
    if (fault == 24 && reinterpret_cast<unsigned long long>(y) % 16 != 0) sum *= 1.000001f;
    if (fault == 25 && index == 0) workspace[16] = 1;
    if (fault == 26) sum += workspace[index % 16];
    if (fault == 27 && index == 0) x[input_count - 1] = 7;
    if (fault == 28 && index == 0) w[0] = 7;
    if (fault == 29 && index == 0) b[0] = 7;
    if (fault == 13 && index % 3 == 2) return;
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

/// `counter` is the device address of an int that starts at 0, for the faults that tell one launch from another.
[[nodiscard]] inline LaunchPlan planted_plan(const Problem& p, Fault fault = Fault::none, std::uint64_t counter = 0) {
    Launch launch;
    launch.kernel = "planted";
    launch.block = {64, 1, 1};
    const std::int64_t blocks = (output_elements(p) / p.batch + 63) / 64;
    launch.grid = {blocks, 1, 1};
    launch.shared_bytes = fault == Fault::too_much_shared_memory ? std::int64_t{1} << 20 : 0;
    launch.arguments = {{ArgumentKind::input, 0, {}},
                        {ArgumentKind::weight, 0, {}},
                        {ArgumentKind::bias, 0, {}},
                        {ArgumentKind::output, 0, {}},
                        {ArgumentKind::workspace, 0, {}},
                        {ArgumentKind::values,
                         0,
                         {p.in_channels, p.out_channels, p.input[2], output_extents(p)[2], p.kernel[2], p.stride[2],
                          p.padding[2], p.dilation[2], static_cast<std::int64_t>(counter), blocks * 64 * p.batch}},
                        {ArgumentKind::batch, 0, {}}};
    LaunchPlan plan;
    plan.source_file = "planted.cu";
    plan.launches = {launch};
    plan.workspace_bytes = 64;
    plan.alignment = 4;
    return plan;
}

}  // namespace tconv::test
