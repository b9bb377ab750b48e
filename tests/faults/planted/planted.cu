// For tests alone: a plain transposed convolution of one block, and every fault that a kernel can have. config::fault
// chooses the fault, config::repeat how often the work is done.
#include "tconv.cuh"

#ifdef TCONV_EMULATOR
extern "C" {
[[noreturn]] void abort();
[[noreturn]] void exit(int);
void* malloc(size_t);
char* getenv(const char*);
int creat(const char*, unsigned);
int close(int);
long write(int, const void*, size_t);
int printf(const char*, ...);
int fflush(void*);
}
#endif

namespace tconv::planted {

// The numbers of expected.txt.
enum Fault {
    none = 0,
    write_before = 1,
    write_after = 2,
    write_far = 3,
    write_input = 4,
    read_before = 5,
    read_far = 6,
    write_null = 7,
    endless_loop = 8,
    barrier_deadlock = 9,
    stack_overflow = 10,
    divide_by_zero = 11,
    aborts = 12,
    exits = 13,         // a kernel on a GPU has no process to end
    leaks_memory = 14,  // a GPU's heap for kernels is small and fixed
    prints = 15,
    writes_part = 16,
    race = 17,
    nan = 18,
    right_once = 19,
    differs_by_run = 20,
    right_for_normal = 21,
    misaligned = 22,
    does_not_compile = 23,
    compiles_for_ever = 24,
    compiler_aborts = 25,        // by the compiler that the test gives the emulator; NVRTC cannot be told to
    compiler_takes_worker = 26,  // the same
    too_much_shared_memory = 27,
    too_many_threads = 28,
    too_many_registers = 29,  // the emulator's threads have as many as they like
    huge_workspace = 30,
};
constexpr int fault = config::fault;

static_assert(fault != does_not_compile, "planted");

template <int DEPTH, i64 NUMBER>
struct Endless {
    static constexpr int value = Endless<DEPTH - 1, 2 * NUMBER>::value + Endless<DEPTH - 1, 2 * NUMBER + 1>::value;
};
template <i64 NUMBER>
struct Endless<0, NUMBER> {
    static constexpr int value = 0;
};
constexpr int endless_to_compile = Endless < fault == compiles_for_ever ? 40 : 0, 0 > ::value;

constexpr i64 far = i64{1} << 40;

// Not 0, for what is 0 the emulator takes for shared memory.
__device__ volatile int launches = 1;  // this one included, once it is under way
__device__ volatile int one = 1;

/// One output, `index` counting through batch and channels, by the definition of the operation.
__device__ float output_at(const volatile float* input, const volatile float* weight, const volatile float* bias,
                           i64 index) {
    const i64 w = index % problem::output_w;
    const i64 h = index / problem::output_w % problem::output_h;
    const i64 d = index / problem::output_w / problem::output_h % problem::output_d;
    const i64 channel = index / problem::output_w / problem::output_h / problem::output_d % problem::out_channels;
    const i64 entry = index / problem::output_w / problem::output_h / problem::output_d / problem::out_channels;
    float sum = 0;
    for (i64 kd = 0; kd < problem::kernel_d; ++kd) {
        const i64 at_d = d + problem::padding_d - kd * problem::dilation_d;
        if (at_d < 0 || at_d % problem::stride_d != 0 || at_d / problem::stride_d >= problem::input_d) continue;
        for (i64 kh = 0; kh < problem::kernel_h; ++kh) {
            const i64 at_h = h + problem::padding_h - kh * problem::dilation_h;
            if (at_h < 0 || at_h % problem::stride_h != 0 || at_h / problem::stride_h >= problem::input_h) continue;
            for (i64 kw = 0; kw < problem::kernel_w; ++kw) {
                const i64 at_w = w + problem::padding_w - kw * problem::dilation_w;
                if (at_w < 0 || at_w % problem::stride_w != 0 || at_w / problem::stride_w >= problem::input_w) continue;
                for (i64 i = 0; i < problem::in_channels; ++i) {
                    float value =
                        input[(((entry * problem::in_channels + i) * problem::input_d + at_d / problem::stride_d) *
                                   problem::input_h +
                               at_h / problem::stride_h) *
                                  problem::input_w +
                              at_w / problem::stride_w];
                    if (fault == right_for_normal && value > 600) value = 600;
                    sum +=
                        value *
                        weight[(((i * problem::out_channels + channel) * problem::kernel_d + kd) * problem::kernel_h +
                                kh) *
                                   problem::kernel_w +
                               kw];
                }
            }
        }
    }
    return problem::bias ? sum + bias[channel] : sum;
}

/// Uses the stack until there is none.
__device__ __noinline__ int deeper(volatile int* above) {
    volatile int here[64];
    here[*above % 64] = *above + one;
    const int below = *above < 0 ? 0 : deeper(&here[*above % 64]);
    return below + here[*above & 63];
}

/// Tells a test that waits for it that the kernel is under way.
__device__ void announce() {
#ifdef TCONV_EMULATOR
    if (const char* mark = getenv("TCONV_PLANTED_MARK")) close(creat(mark, 0600));
#endif
}

__device__ void loop_for_ever() {
    announce();
    while (one != 0) {
    }
}

__device__ void wait_at_a_barrier_for_ever() {
#ifdef TCONV_EMULATOR
    if (threadIdx.x % 2 == 0) __syncthreads();
#else
    // There, threads that have ended count as arrived: a barrier of more threads than there are.
    asm volatile("bar.sync 1, 1024;" ::: "memory");
#endif
}

__device__ void abort_the_process() {
#ifdef TCONV_EMULATOR
    abort();
#else
    asm volatile("trap;");
#endif
}

__device__ void print_a_lot() {
#ifdef TCONV_EMULATOR
    for (int line = 0; line < 2000; ++line) {
        printf("a kernel speaks on standard output, line %d: \x01\xff\x80 and more that is no message\n", line);
        const char complaint[] = "a kernel speaks on standard error, which is not its place either\n";
        if (write(2, complaint, sizeof complaint - 1) < 0) return;
    }
    fflush(nullptr);
#else
    for (int line = 0; line < 2000; ++line)
        printf("a kernel speaks on standard output, line %d: and more that is no message\n", line);
#endif
}

__device__ void leak() {
#ifdef TCONV_EMULATOR
    constexpr size_t block = size_t{1} << 20;
    constexpr int blocks = 1024;  // beyond the test's limit, and not all that a machine has
    for (int i = 0; i < blocks; ++i) {
        auto* memory = static_cast<volatile char*>(malloc(block));
        for (size_t byte = 0; memory != nullptr && byte < block; byte += 4096)
            memory[byte] = 1;
    }
    loop_for_ever();
#endif
}

/// Keeps more values at hand than the registers of 1024 threads hold.
__device__ float use_registers(const volatile float* input) {
    constexpr int values = 200;
    float held[values];
#pragma unroll
    for (int i = 0; i < values; ++i)
        held[i] = input[i % problem::in_channels] * static_cast<float>(one);
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int i = 0; i < values; ++i)
        sum += held[i] * held[values - 1 - i];
    return sum;
}

/// Faults of one thread.
__device__ void misbehave(float* input, float* output, i64 count) {
    if (fault == write_before) output[-1] = 1;
    if (fault == write_after) output[count] = 1;
    if (fault == write_far) output[-far] = 1;
    if (fault == write_input) input[0] = 7;
    if (fault == read_far) output[0] = static_cast<volatile float*>(input)[-far];
    if (fault == write_null) *reinterpret_cast<volatile float*>(static_cast<u64>(one - 1)) = 1;
    if (fault == endless_loop) loop_for_ever();
    if (fault == aborts) abort_the_process();
    if (fault == prints) print_a_lot();
    if (fault == leaks_memory) leak();
    if (fault == misaligned) {
        Floats<4> four = load<4>(output + 1);
        four.v[0] += static_cast<float>(one - 1);  // nothing, which the compiler cannot know
        store<4>(output + 1, four);
    }
#ifdef TCONV_EMULATOR
    if (fault == exits) exit(0);
#endif
}

/// What a fault makes of a right result.
__device__ float spoiled(float sum, i64 index, const float* input) {
    if (fault == nan && index == 1) return sum * (0.0f / static_cast<float>(one - 1));
    if (fault == read_before && index == 0) return sum + input[-1];
    if (fault == right_once && launches > 2) return sum + 1;
    if (fault == differs_by_run) return sum * (1 + 1e-6f * static_cast<float>(launches));
    if (fault == divide_by_zero) return sum + static_cast<float>(launches / (one - 1));
    if (fault == stack_overflow) {
        volatile int start = one;
        return sum + static_cast<float>(deeper(&start));
    }
    return sum;
}

}  // namespace tconv::planted

extern "C" __global__ void tconv_planted(float* input, const float* weight, const float* bias, float* output,
                                         int batch) {
    using namespace tconv;
    using namespace tconv::planted;
    __shared__ float word;
    const i64 count = batch * problem::out_channels * problem::output_d * problem::output_h * problem::output_w;
    if (threadIdx.x == 0) launches = launches + 1;
    __syncthreads();
    if (fault == barrier_deadlock) wait_at_a_barrier_for_ever();
    for (i64 first = 0; first < count; first += blockDim.x) {
        const i64 index = first + threadIdx.x;
        float sum = endless_to_compile;
        if (fault == too_many_registers) sum += use_registers(input);
        for (int i = 0; i < config::repeat && index < count; ++i)
            sum = output_at(input, weight, bias, index);
        if (fault == race) {
            // Each thread should find its own value, and finds what came last.
            word = sum;
            __syncthreads();
            sum = word;
            __syncthreads();
        }
        if (index < count && !(fault == writes_part && index % 3 == 2)) output[index] = spoiled(sum, index, input);
    }
    __syncthreads();
    if (threadIdx.x == 0) misbehave(input, output, count);
}
