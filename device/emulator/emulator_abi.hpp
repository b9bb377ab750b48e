// What the emulator and the kernels compiled for it agree on. Without includes: it is compiled into this library and is
// also part of every emulated kernel's text.
#ifndef TCONV_EMULATOR_ABI
#define TCONV_EMULATOR_ABI

namespace tconv_emulator {

/// Where a thread waits for others: first the barriers of a block, then the operations of a warp, those of a warpgroup
/// (128 threads), that of a cluster of blocks.
enum class Meeting : int {
    syncthreads,
    syncthreads_count,
    syncthreads_and,
    syncthreads_or,
    syncwarp,
    shuffle,
    shuffle_up,
    shuffle_down,
    shuffle_xor,
    ballot,
    any,
    all,
    warp_product,
    warpgroup,
    wgmma_wait,
    cluster,
    barrier,  // a barrier in shared memory
};

/// What a kernel gets for a tensor map: the numbers of it and the array's address. Dimensions are innermost first.
struct alignas(128) TensorMap {
    const unsigned char* address;
    unsigned long long strides[4];  ///< bytes, of dimensions 1 and following
    unsigned extents[5];            ///< elements
    unsigned short box[5];          ///< elements
    unsigned char dimensions;       ///< 1 to 5
    unsigned char element_bytes;
    unsigned char rounds_to_tf32;  ///< 1: elements are f32 and are rounded to tf32 on their way
    unsigned char swizzle;         ///< bytes: 0, 32, 64 or 128
    unsigned char unused[46];
    unsigned long long mark;  ///< k_tensor_map_mark: this is one
};
static_assert(sizeof(TensorMap) == 128, "as large as the hardware's");
constexpr unsigned long long k_tensor_map_mark = 0x70616d726f736e65ull;

/// What matrices are of; a tf32 is a float whose lower 13 bits are ignored.
enum class Element : int { f16, bf16, tf32 };

/// Where a product finds the 32 bytes along K that it multiplies of each row of A, or column of B, and how 64 bits
/// describe that.
///   k_major     rows of 128 bytes, swizzled, eight behind each other. Bits 0 to 47: where the first one's 32 bytes
///               begin; 48 to 61: from one eight to the next, in 128 bytes.
///   mn_major    16-bit values, k by k: 64 rows' lie behind each other, swizzled, or 32's or 16's. Bits 0 to 47: the
///               first k; 48 to 61: from one block of rows to the next, in 1024 bytes; 62 to 63: halvings of 64.
///   plain       eight rows' first 16 bytes behind each other, then their second. Bits as k_major.
///   registers   of A only: four lanes hold two rows. Four times 64 bits: where each lane has its registers.
enum class Placement : int { k_major, mn_major, plain, registers };

/// A warpgroup's matrix product: 64 x 32 bytes times 32 bytes x `columns`.
struct Product {
    Element element;
    int columns;
    Placement a;
    Placement b;
};

/// Describes A.
struct LeftOperand {
    unsigned long long words[4];
};

/// What a kernel asks of the emulator. `line` is the line of the kernel's source, for messages.
struct Host {
    void* context;
    /// Returns once every thread of the block is here: the number of threads whose `predicate` is not 0.
    int (*meet_block)(void* context, Meeting meeting, int predicate, int line);
    /// Returns once every lane of `mask` is here. Shuffles: `value` of lane `source`; votes: the lanes that voted yes.
    unsigned long long (*meet_warp)(void* context, Meeting meeting, unsigned mask, unsigned long long value, int source,
                                    int line);
    /// `global` is null where zeros are to be written.
    void (*copy)(void* context, void* shared, const void* global, int bytes);
    void (*commit)(void* context);
    void (*wait)(void* context, int groups);
    /// Returns once every lane of the warp is here and its 16 x 8 sums have grown by a product of 32 bytes along K:
    /// `sums` are this lane's 4, `a` and `b` its 4 and 2 registers.
    void (*multiply_warp)(void* context, Element element, float* sums, const unsigned* a, const unsigned* b, int line);
    /// Barriers in shared memory, 8 bytes each. `arrivals` threads complete a phase, with the bytes that were expected.
    void (*barrier_init)(void* context, void* barrier, unsigned arrivals, int line);
    /// `arrivals` (0 or 1) of this thread, and `bytes` more to expect.
    void (*barrier_arrive)(void* context, void* barrier, unsigned arrivals, unsigned bytes, int line);
    /// 1 where the phase of this parity is complete. `waits`: returns only then. Else other threads may run first.
    int (*barrier_wait)(void* context, void* barrier, unsigned parity, int waits, int line);
    /// Starts copies whose bytes arrive, and count for the barrier, when its phase is waited for. `blocks` is 0, or a
    /// bit for each block of the cluster that gets the bytes, at the same place in its shared memory and for its
    /// barrier.
    void (*load_box)(void* context, void* shared, const TensorMap* map, const int* corner, int dimensions,
                     void* barrier, unsigned blocks, int line);
    void (*load_bytes)(void* context, void* shared, const void* global, unsigned bytes, void* barrier, unsigned blocks,
                       int line);
    /// Ends the launch, does not return: `what` accessed `address`, which must be a multiple of `alignment`.
    void (*misaligned)(void* context, const char* what, const void* address, int alignment, int line);
    /// Returns once every thread of the warpgroup is here.
    void (*meet_warpgroup)(void* context, Meeting meeting, int line);
    /// This thread's part of a product is computed when it waits for its group, and no sooner.
    void (*start_product)(void* context, Product product, float* sums, const LeftOperand* a, unsigned long long b,
                          int add);
    void (*commit_products)(void* context);
    void (*wait_products)(void* context, int groups);
    /// Returns once every thread of every block of the cluster is here.
    void (*meet_cluster)(void* context, int line);
    /// An arrival at the barrier that block `rank` of the cluster has where this one has `barrier`.
    void (*arrive_in_cluster)(void* context, void* barrier, unsigned rank, int line);
};

/// The variables of a compiled kernel file that the emulator sets: three extents each, then two pointers.
struct Interface {
    unsigned* thread_index;
    unsigned* block_index;
    unsigned* block_extent;
    unsigned* grid_extent;
    const Host** host;
    void** dynamic_shared;
};

}  // namespace tconv_emulator

#endif
