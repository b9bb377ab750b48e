// Makes a CUDA C++ kernel source compile as C++17 for the emulator: put in front of it. Without standard headers, so
// that a kernel compiles in a fraction of a second.
#ifndef TCONV_CUDA_ON_CPU
#define TCONV_CUDA_ON_CPU
#define TCONV_EMULATOR 1

#include "emulator_abi.hpp"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
// Each processor thread runs its own copy of this file, so a static object belongs to one block at a time. It stands in
// .bss, which is how the emulator finds all of them; what else would be there has a section of its own.
#define __shared__ static
#define __constant__ static __attribute__((section("tconv_constant")))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define TCONV_EMULATOR_STATE __attribute__((section("tconv_state")))

using size_t = decltype(sizeof 0);

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_extent = 1, unsigned y_extent = 1, unsigned z_extent = 1)
        : x(x_extent), y(y_extent), z(z_extent) {}
};

TCONV_EMULATOR_STATE uint3 threadIdx = {0, 0, 0};
TCONV_EMULATOR_STATE uint3 blockIdx = {0, 0, 0};
TCONV_EMULATOR_STATE dim3 blockDim = {1, 1, 1};
TCONV_EMULATOR_STATE dim3 gridDim = {1, 1, 1};
constexpr int warpSize = 32;

namespace tconv_emulator {

TCONV_EMULATOR_STATE const Host* host = nullptr;
TCONV_EMULATOR_STATE void* dynamic_shared_begin = nullptr;

inline void* dynamic_shared() {
    return dynamic_shared_begin;
}

inline void check_alignment(const void* address, int alignment, const char* what, int line) {
    if (reinterpret_cast<size_t>(address) % static_cast<size_t>(alignment) != 0) {
        host->misaligned(host->context, what, address, alignment, line);
    }
}

inline void copy_async(void* shared, const void* global, int bytes) {
    host->copy(host->context, shared, global, bytes);
}
inline void copy_async_commit() {
    host->commit(host->context);
}
inline void copy_async_wait(int groups) {
    host->wait(host->context, groups);
}

inline void barrier_init(void* barrier, unsigned arrivals, int line) {
    check_alignment(barrier, 8, "barrier", line);
    host->barrier_init(host->context, barrier, arrivals, line);
}
inline void barrier_arrive(void* barrier, unsigned arrivals, unsigned bytes, int line) {
    host->barrier_arrive(host->context, barrier, arrivals, bytes, line);
}
inline bool barrier_wait(void* barrier, unsigned parity, bool waits, int line) {
    return host->barrier_wait(host->context, barrier, parity, waits, line) != 0;
}
inline void load_box(void* shared, const void* map, const int* corner, int dimensions, void* barrier, unsigned blocks,
                     int line) {
    check_alignment(shared, 128, "destination of a box", line);
    host->load_box(host->context, shared, static_cast<const TensorMap*>(map), corner, dimensions, barrier, blocks,
                   line);
}
inline void load_bytes(void* shared, const void* global, unsigned bytes, void* barrier, unsigned blocks, int line) {
    check_alignment(shared, 16, "destination of a bulk copy", line);
    check_alignment(global, 16, "source of a bulk copy", line);
    check_alignment(reinterpret_cast<const void*>(static_cast<size_t>(bytes)), 16, "size of a bulk copy", line);
    host->load_bytes(host->context, shared, global, bytes, barrier, blocks, line);
}
inline void arrive_in_cluster(void* barrier, unsigned rank, int line) {
    host->arrive_in_cluster(host->context, barrier, rank, line);
}
inline void meet_cluster(int line) {
    host->meet_cluster(host->context, line);
}

inline int lane() {
    return static_cast<int>((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % warpSize);
}

template <class T>
inline T shuffle(Meeting meeting, unsigned mask, T value, int source, int line) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a shuffle moves 4 or 8 bytes");
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    bits = host->meet_warp(host->context, meeting, mask, bits, source, line);
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

inline unsigned vote(Meeting meeting, unsigned mask, int predicate, int line) {
    return static_cast<unsigned>(host->meet_warp(host->context, meeting, mask, predicate != 0, lane(), line));
}

inline int barrier(Meeting meeting, int predicate, int line) {
    return host->meet_block(host->context, meeting, predicate, line);
}

template <int... I>
struct Indices {};
template <int N, int... I>
struct IndicesBelow : IndicesBelow<N - 1, N - 1, I...> {};
template <int... I>
struct IndicesBelow<0, I...> {
    using Type = Indices<I...>;
};

template <class... Parameters, int... I>
inline void call(void (*kernel)(Parameters...), [[maybe_unused]] void** arguments, Indices<I...>) {
    kernel(*static_cast<Parameters*>(arguments[I])...);
}
/// Calls a kernel with arguments given by address; their types are those of its parameters.
template <class... Parameters>
inline void call(void (*kernel)(Parameters...), void** arguments) {
    call(kernel, arguments, typename IndicesBelow<sizeof...(Parameters)>::Type());
}

}  // namespace tconv_emulator

extern "C" __attribute__((visibility("default"))) void tconv_emulator_interface(tconv_emulator::Interface* interface) {
    *interface = {&threadIdx.x, &blockIdx.x,           &blockDim.x,
                  &gridDim.x,   &tconv_emulator::host, &tconv_emulator::dynamic_shared_begin};
}

// Barriers and warp operations.

inline void __syncthreads(int line = __builtin_LINE()) {
    tconv_emulator::barrier(tconv_emulator::Meeting::syncthreads, 0, line);
}
inline int __syncthreads_count(int predicate, int line = __builtin_LINE()) {
    return tconv_emulator::barrier(tconv_emulator::Meeting::syncthreads_count, predicate, line);
}
inline int __syncthreads_and(int predicate, int line = __builtin_LINE()) {
    const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    const int count = tconv_emulator::barrier(tconv_emulator::Meeting::syncthreads_and, predicate, line);
    return static_cast<unsigned>(count) == threads;
}
inline int __syncthreads_or(int predicate, int line = __builtin_LINE()) {
    return tconv_emulator::barrier(tconv_emulator::Meeting::syncthreads_or, predicate, line) != 0;
}
inline void __syncwarp(unsigned mask = 0xffffffffu, int line = __builtin_LINE()) {
    tconv_emulator::vote(tconv_emulator::Meeting::syncwarp, mask, 0, line);
}

template <class T>
inline T __shfl_sync(unsigned mask, T value, int source, int width = warpSize, int line = __builtin_LINE()) {
    const int first = tconv_emulator::lane() & ~(width - 1);
    return tconv_emulator::shuffle(tconv_emulator::Meeting::shuffle, mask, value, first | (source & (width - 1)), line);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize, int line = __builtin_LINE()) {
    const int lane = tconv_emulator::lane();
    const bool inside = delta <= static_cast<unsigned>(lane & (width - 1));
    const int source = inside ? lane - static_cast<int>(delta) : lane;
    return tconv_emulator::shuffle(tconv_emulator::Meeting::shuffle_up, mask, value, source, line);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize, int line = __builtin_LINE()) {
    const int lane = tconv_emulator::lane();
    const bool inside = delta < static_cast<unsigned>(width - (lane & (width - 1)));
    const int source = inside ? lane + static_cast<int>(delta) : lane;
    return tconv_emulator::shuffle(tconv_emulator::Meeting::shuffle_down, mask, value, source, line);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = warpSize, int line = __builtin_LINE()) {
    const int lane = tconv_emulator::lane();
    const int other = lane ^ lane_mask;
    const bool inside = other >= 0 && other <= (lane | (width - 1));  // an earlier segment may be read, a later one not
    return tconv_emulator::shuffle(tconv_emulator::Meeting::shuffle_xor, mask, value, inside ? other : lane, line);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
    return tconv_emulator::vote(tconv_emulator::Meeting::ballot, mask, predicate, line);
}
inline int __any_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
    return tconv_emulator::vote(tconv_emulator::Meeting::any, mask, predicate, line) != 0;
}
inline int __all_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
    return tconv_emulator::vote(tconv_emulator::Meeting::all, mask, predicate == 0, line) == 0;
}

inline void __threadfence() {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void __threadfence_block() {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

// Atomics: blocks run at the same time, so these are real ones.

inline int atomicAdd(int* address, int value) {
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}
inline unsigned atomicAdd(unsigned* address, unsigned value) {
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}
inline unsigned long long atomicAdd(unsigned long long* address, unsigned long long value) {
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}

namespace tconv_emulator {
/// Replaces *address by change(*address) and returns what was there.
template <class T, class Change>
inline T exchange(T* address, Change change) {
    T before;
    __atomic_load(address, &before, __ATOMIC_RELAXED);
    for (;;) {
        T after = change(before);
        if (__atomic_compare_exchange(address, &before, &after, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            return before;
        }
    }
}
template <class T>
inline T atomic_max(T* address, T value) {
    return exchange(address, [value](T before) { return before < value ? value : before; });
}
template <class T>
inline T atomic_min(T* address, T value) {
    return exchange(address, [value](T before) { return value < before ? value : before; });
}
}  // namespace tconv_emulator

inline float atomicAdd(float* address, float value) {
    return tconv_emulator::exchange(address, [value](float before) { return before + value; });
}
inline int atomicMax(int* address, int value) {
    return tconv_emulator::atomic_max(address, value);
}
inline unsigned atomicMax(unsigned* address, unsigned value) {
    return tconv_emulator::atomic_max(address, value);
}
inline unsigned long long atomicMax(unsigned long long* address, unsigned long long value) {
    return tconv_emulator::atomic_max(address, value);
}
inline int atomicMin(int* address, int value) {
    return tconv_emulator::atomic_min(address, value);
}
inline unsigned atomicMin(unsigned* address, unsigned value) {
    return tconv_emulator::atomic_min(address, value);
}
inline unsigned long long atomicMin(unsigned long long* address, unsigned long long value) {
    return tconv_emulator::atomic_min(address, value);
}

// Arithmetic.

namespace tconv_emulator {
template <class To, class From>
inline To same_bits(From value) {
    static_assert(sizeof(To) == sizeof(From), "the bits of one type as another");
    To result;
    __builtin_memcpy(&result, &value, sizeof result);
    return result;
}
}  // namespace tconv_emulator

inline unsigned __float_as_uint(float value) {
    return tconv_emulator::same_bits<unsigned>(value);
}
inline float __uint_as_float(unsigned value) {
    return tconv_emulator::same_bits<float>(value);
}
inline int __float_as_int(float value) {
    return tconv_emulator::same_bits<int>(value);
}
inline float __int_as_float(int value) {
    return tconv_emulator::same_bits<float>(value);
}
inline long long __double_as_longlong(double value) {
    return tconv_emulator::same_bits<long long>(value);
}
inline double __longlong_as_double(long long value) {
    return tconv_emulator::same_bits<double>(value);
}

// The C library's own, which the compiler knows and turns into instructions where it can.
extern "C" {
float fmaf(float, float, float);
double fma(double, double, double);
float sqrtf(float);
double sqrt(double);
float fabsf(float);
double fabs(double);
float fminf(float, float);
double fmin(double, double);
float fmaxf(float, float);
double fmax(double, double);
float floorf(float);
double floor(double);
float ceilf(float);
double ceil(double);
int abs(int);
}

inline float fma(float a, float b, float c) {
    return fmaf(a, b, c);
}
inline float sqrt(float value) {
    return sqrtf(value);
}
inline float fabs(float value) {
    return fabsf(value);
}
inline float abs(float value) {
    return fabsf(value);
}
inline double abs(double value) {
    return fabs(value);
}
inline bool isnan(float value) {
    return __builtin_isnan(value);
}
inline bool isnan(double value) {
    return __builtin_isnan(value);
}
inline bool isinf(float value) {
    return __builtin_isinf(value);
}
inline bool isinf(double value) {
    return __builtin_isinf(value);
}
inline bool isfinite(float value) {
    return __builtin_isfinite(value);
}
inline bool isfinite(double value) {
    return __builtin_isfinite(value);
}

#define TCONV_EMULATOR_MIN_MAX(Result, First, Second)                   \
    constexpr Result min(First a, Second b) {                           \
        return static_cast<Result>(a) < static_cast<Result>(b) ? a : b; \
    }                                                                   \
    constexpr Result max(First a, Second b) {                           \
        return static_cast<Result>(a) < static_cast<Result>(b) ? b : a; \
    }
TCONV_EMULATOR_MIN_MAX(int, int, int)
TCONV_EMULATOR_MIN_MAX(unsigned, unsigned, unsigned)
TCONV_EMULATOR_MIN_MAX(unsigned, int, unsigned)
TCONV_EMULATOR_MIN_MAX(unsigned, unsigned, int)
TCONV_EMULATOR_MIN_MAX(long, long, long)
TCONV_EMULATOR_MIN_MAX(unsigned long, unsigned long, unsigned long)
TCONV_EMULATOR_MIN_MAX(long long, long long, long long)
TCONV_EMULATOR_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
#undef TCONV_EMULATOR_MIN_MAX
inline float min(float a, float b) {
    return fminf(a, b);
}
inline float max(float a, float b) {
    return fmaxf(a, b);
}
inline double min(double a, double b) {
    return fmin(a, b);
}
inline double max(double a, double b) {
    return fmax(a, b);
}

#endif
