// Matrix products of a warpgroup (128 threads in a row) on the tensor cores of compute capability 9.0a, both operands
// in shared memory (wgmma_registers.cuh: A in registers), each instruction behind one function with a twin for the
// emulator.
//
// An operand is rows of 128 bytes, eight behind each other, swizzled: the 16-byte piece p of a row lies at piece
// p ^ (address / 128 % 8), as TMA writes it. K-major, a row is 128 bytes along K of one row of A or column of B, and
// eights of rows lie at a constant distance. MN-major, which 16-bit types may be, a row is 64 rows of A or columns of B
// at one k, rows of all k lie behind each other, and blocks of 64 at a constant distance; or a row is 32 or 16 of them,
// in blocks of as many, with a swizzle of as many bytes as a row has.
#ifndef TCONV_WGMMA_CUH
#define TCONV_WGMMA_CUH

#include "warp_mma.cuh"
#include "wgmma_accumulators.cuh"

namespace tconv {

constexpr int k_operand_row = 128;
/// Bytes along K of one product.
constexpr int k_operand_step = 32;
constexpr int k_warpgroup = 128;
/// MN-major: rows of A or columns of B in one row of 16-bit values.
constexpr int k_operand_values = 64;
/// MN-major: rows of one product, k by k, and their bytes.
constexpr int k_operand_depth = 16;
constexpr int k_mn_major_step = k_operand_depth * k_operand_row;

/// Along what an operand's rows lie.
enum class Major { k, mn };

#ifdef TCONV_EMULATOR

/// Describes a K-major operand: the first row, a byte offset along K (a multiple of 32), bytes from eight rows to the
/// next.
__device__ __forceinline__ u64 wgmma_operand(const void* row, int offset, int eights, int line = __builtin_LINE()) {
    tconv_emulator::check_alignment(row, k_operand_row, "operand of wgmma", line);
    return (reinterpret_cast<u64>(row) + static_cast<u64>(offset)) | static_cast<u64>(eights / k_operand_row) << 48;
}

/// Describes an MN-major operand: the row of its first k, at a multiple of eight rows, and bytes from one block of
/// rows of A or columns of B to the next. A row has ROW bytes, 128, 64 or 32.
template <int ROW = k_operand_row>
__device__ __forceinline__ u64 wgmma_operand_mn(const void* row, int blocks, int line = __builtin_LINE()) {
    static_assert(ROW == 128 || ROW == 64 || ROW == 32, "a swizzle of the hardware");
    tconv_emulator::check_alignment(row, 8 * ROW, "MN-major operand of wgmma", line);
    constexpr u64 halvings = ROW == 128 ? 0 : ROW == 64 ? 1 : 2;
    return reinterpret_cast<u64>(row) | static_cast<u64>(blocks / 1024) << 48 | halvings << 62;
}

/// Starts D = A * B, plus D where `add` is not 0, of one warpgroup: 64 x K times K x N, K = 32 bytes of T, N a multiple
/// of 8 up to 256. Thread t holds rows 16 * (t / 32) + t % 32 / 4 (+ 8: the second pair) and columns 2 * (t % 4), + 1
/// of every eight: four accumulators for each eight columns. D may be used after wgmma_wait.
template <class T, int N, Major A = Major::k, Major B = Major::k>
__device__ __forceinline__ void wgmma_start(float (&d)[N / 2], u64 a, u64 b, bool add) {
    static_assert((A == Major::k && B == Major::k) || sizeof(T) == 2, "operands of 16 bits alone may be MN-major");
    using tconv_emulator::Placement;
    const tconv_emulator::LeftOperand left{{a}};
    tconv_emulator::host->start_product(
        tconv_emulator::host->context,
        {EmulatedElement<T>::value, N, A == Major::k ? Placement::k_major : Placement::mn_major,
         B == Major::k ? Placement::k_major : Placement::mn_major},
        d, &left, b, add ? 1 : 0);
}

/// Accumulators that ordinary instructions wrote may be used by the products that follow.
__device__ __forceinline__ void wgmma_fence() {}

/// Closes the group of the products started so far.
__device__ __forceinline__ void wgmma_commit() {
    tconv_emulator::host->commit_products(tconv_emulator::host->context);
}

/// Waits until at most GROUPS of the most recent groups are pending.
template <int GROUPS>
__device__ __forceinline__ void wgmma_wait(int line = __builtin_LINE()) {
    tconv_emulator::host->wait_products(tconv_emulator::host->context, GROUPS);
    tconv_emulator::host->meet_warpgroup(tconv_emulator::host->context, tconv_emulator::Meeting::wgmma_wait, line);
}

/// Shared memory that ordinary stores wrote may be read by products and bulk copies: in each writing thread, before the
/// barrier that they wait at.
__device__ __forceinline__ void fence_async_proxy() {}

/// Waits for the other threads of the warpgroup; `number` is its own.
__device__ __forceinline__ void warpgroup_sync(int, int line = __builtin_LINE()) {
    tconv_emulator::host->meet_warpgroup(tconv_emulator::host->context, tconv_emulator::Meeting::warpgroup, line);
}

/// The warpgroup keeps no more than COUNT registers a thread, or takes so many of those that others have given.
template <int COUNT>
__device__ __forceinline__ void give_registers() {}
template <int COUNT>
__device__ __forceinline__ void take_registers() {}

#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)

namespace wgmma {
// The descriptor's fields, in 16 bytes (PTX ISA, wgmma, "matrix descriptor" and "strides"): bits 0 to 13 the start, 16
// to 29 the leading, 32 to 45 the stride dimension's byte offset, 62 and 63 the swizzle.
//   128-byte swizzle   leading dimension offset      stride dimension offset
//   K-major            not used, taken for 1         8 rows of A or columns of B to the next 8
//   MN-major           64 rows or columns of 16      8 along K to the next 8
//                      bits to the next 64
// Swizzles of 64 and 32 bytes, MN-major, are numbered 2 and 3; then 32 or 16 rows or columns take the place of 64.
template <int SWIZZLE = k_operand_row>
__device__ __forceinline__ u64 descriptor(const void* row, int offset, int leading, int stride) {
    const u64 address = static_cast<u64>(__cvta_generic_to_shared(row)) + static_cast<u64>(offset);
    constexpr u64 swizzle = SWIZZLE == 128 ? 1 : SWIZZLE == 64 ? 2 : 3;
    return swizzle << 62 | static_cast<u64>(stride / 16) << 32 | static_cast<u64>(leading / 16) << 16 |
           (address & 0x3FFFF) >> 4;
}
}  // namespace wgmma

__device__ __forceinline__ u64 wgmma_operand(const void* row, int offset, int eights) {
    return wgmma::descriptor(row, offset, 16, eights);
}

template <int ROW = k_operand_row>
__device__ __forceinline__ u64 wgmma_operand_mn(const void* row, int blocks) {
    return wgmma::descriptor<ROW>(row, 0, blocks, 8 * ROW);
}

__device__ __forceinline__ void wgmma_fence() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void wgmma_commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int GROUPS>
__device__ __forceinline__ void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(GROUPS) : "memory");
}

__device__ __forceinline__ void fence_async_proxy() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void warpgroup_sync(int number) {
    // Barrier 0 is the block's. A number in a register would claim all sixteen.
    if (number == 0) asm volatile("bar.sync 1, 128;" ::: "memory");
    if (number == 1) asm volatile("bar.sync 2, 128;" ::: "memory");
    if (number == 2) asm volatile("bar.sync 3, 128;" ::: "memory");
    if (number == 3) asm volatile("bar.sync 4, 128;" ::: "memory");
}

template <int COUNT>
__device__ __forceinline__ void give_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}
template <int COUNT>
__device__ __forceinline__ void take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}

template <class T, int N>
struct Wgmma;

// A, B, ADD, MAJOR_A and MAJOR_B are the numbers of the operands behind the accumulators; REST are those that a type
// has besides.
#define TCONV_WGMMA(Type, N, SHAPE, NAME, REST, A, B, ADD)                                                            \
    template <>                                                                                                       \
    struct Wgmma<Type, N> {                                                                                           \
        template <int MajorA, int MajorB>                                                                             \
        __device__ static __forceinline__ void start(float (&d)[N / 2], u64 a, u64 b, int add) {                      \
            asm volatile("{ .reg .pred add; setp.ne.b32 add, " ADD ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N SHAPE \
                         ".f32." NAME "." NAME " {" TCONV_REGISTERS_##N "}, " A ", " B ", add, 1, 1" REST "; }"       \
                         : TCONV_FLOATS_##N(d)                                                                        \
                         : "l"(a), "l"(b), "r"(add), "n"(MajorA), "n"(MajorB));                                       \
        }                                                                                                             \
    };
#define TCONV_WGMMA_TYPES(N, A, B, ADD, MAJOR_A, MAJOR_B)                     \
    TCONV_WGMMA(f16, N, "k16", "f16", ", " MAJOR_A ", " MAJOR_B, A, B, ADD)   \
    TCONV_WGMMA(bf16, N, "k16", "bf16", ", " MAJOR_A ", " MAJOR_B, A, B, ADD) \
    TCONV_WGMMA(tf32, N, "k8", "tf32", "", A, B, ADD)
TCONV_WGMMA_TYPES(8, "%4", "%5", "%6", "%7", "%8")
TCONV_WGMMA_TYPES(16, "%8", "%9", "%10", "%11", "%12")
TCONV_WGMMA_TYPES(24, "%12", "%13", "%14", "%15", "%16")
TCONV_WGMMA_TYPES(32, "%16", "%17", "%18", "%19", "%20")
TCONV_WGMMA_TYPES(40, "%20", "%21", "%22", "%23", "%24")
TCONV_WGMMA_TYPES(48, "%24", "%25", "%26", "%27", "%28")
TCONV_WGMMA_TYPES(56, "%28", "%29", "%30", "%31", "%32")
TCONV_WGMMA_TYPES(64, "%32", "%33", "%34", "%35", "%36")
TCONV_WGMMA_TYPES(72, "%36", "%37", "%38", "%39", "%40")
TCONV_WGMMA_TYPES(80, "%40", "%41", "%42", "%43", "%44")
TCONV_WGMMA_TYPES(88, "%44", "%45", "%46", "%47", "%48")
TCONV_WGMMA_TYPES(96, "%48", "%49", "%50", "%51", "%52")
TCONV_WGMMA_TYPES(104, "%52", "%53", "%54", "%55", "%56")
TCONV_WGMMA_TYPES(112, "%56", "%57", "%58", "%59", "%60")
TCONV_WGMMA_TYPES(120, "%60", "%61", "%62", "%63", "%64")
TCONV_WGMMA_TYPES(128, "%64", "%65", "%66", "%67", "%68")
TCONV_WGMMA_TYPES(136, "%68", "%69", "%70", "%71", "%72")
TCONV_WGMMA_TYPES(144, "%72", "%73", "%74", "%75", "%76")
TCONV_WGMMA_TYPES(152, "%76", "%77", "%78", "%79", "%80")
TCONV_WGMMA_TYPES(160, "%80", "%81", "%82", "%83", "%84")
TCONV_WGMMA_TYPES(168, "%84", "%85", "%86", "%87", "%88")
TCONV_WGMMA_TYPES(176, "%88", "%89", "%90", "%91", "%92")
TCONV_WGMMA_TYPES(184, "%92", "%93", "%94", "%95", "%96")
TCONV_WGMMA_TYPES(192, "%96", "%97", "%98", "%99", "%100")
TCONV_WGMMA_TYPES(200, "%100", "%101", "%102", "%103", "%104")
TCONV_WGMMA_TYPES(208, "%104", "%105", "%106", "%107", "%108")
TCONV_WGMMA_TYPES(216, "%108", "%109", "%110", "%111", "%112")
TCONV_WGMMA_TYPES(224, "%112", "%113", "%114", "%115", "%116")
TCONV_WGMMA_TYPES(232, "%116", "%117", "%118", "%119", "%120")
TCONV_WGMMA_TYPES(240, "%120", "%121", "%122", "%123", "%124")
TCONV_WGMMA_TYPES(248, "%124", "%125", "%126", "%127", "%128")
TCONV_WGMMA_TYPES(256, "%128", "%129", "%130", "%131", "%132")
#undef TCONV_WGMMA_TYPES
#undef TCONV_WGMMA

template <class T, int N, Major A = Major::k, Major B = Major::k>
__device__ __forceinline__ void wgmma_start(float (&d)[N / 2], u64 a, u64 b, bool add) {
    static_assert((A == Major::k && B == Major::k) || sizeof(T) == 2, "operands of 16 bits alone may be MN-major");
    Wgmma<T, N>::template start<A == Major::mn, B == Major::mn>(d, a, b, add ? 1 : 0);
}

#endif

}  // namespace tconv

#endif
