// What the emulator and the kernels compiled for it agree on. Without includes: it is compiled into this library and is
// also part of every emulated kernel's text.
#ifndef TCONV_EMULATOR_ABI
#define TCONV_EMULATOR_ABI

namespace tconv_emulator {

/// Where a thread waits for others: first the barriers of a block, then the operations of a warp.
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
    /// Ends the launch, does not return: `what` accessed `address`, which must be a multiple of `alignment`.
    void (*misaligned)(void* context, const char* what, const void* address, int alignment, int line);
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
