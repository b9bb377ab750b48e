#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "../core/error.hpp"
#include "../core/problem.hpp"

namespace tconv {

/// Which step of the fallback ladder a fetched kernel stands on.
enum class Rung {
    exact,        ///< tuned for this very problem and device
    other_batch,  ///< tuned for the same problem with another batch
    reference,    ///< never tuned: the slow kernel that takes everything
};

[[nodiscard]] const char* to_string(Rung rung);

/// Addresses of one call's tensors: device addresses on CUDA, host addresses on the emulator. Contiguous, in the
/// problem's dtype and layout; element-aligned is enough, but see Kernel::alignment. `bias` is null exactly when the
/// problem has none.
struct Tensors {
    const void* input = nullptr;   ///< N x c_in x spatial (nchw)
    const void* weight = nullptr;  ///< c_in x c_out/groups x k..., in the problem's layout
    const void* bias = nullptr;    ///< c_out
    void* output = nullptr;        ///< N x c_out x output extents
    void* workspace = nullptr;     ///< `workspace_bytes()` bytes; may be null when that is 0
};

/// Packed weights that stay in memory of the caller's: what Kernel::prepare made, for calls of that kernel. A handle:
/// it owns no memory and may be copied.
class PreparedWeights {
public:
    PreparedWeights() = default;

private:
    friend class Kernel;
    std::shared_ptr<const void> made_for_;
    void* packed_ = nullptr;
};

/// A kernel ready to launch. Cheap to move; keeps its module loaded while it lives.
class Kernel {
public:
    Kernel(Kernel&&) noexcept;
    Kernel& operator=(Kernel&&) noexcept;
    ~Kernel();

    /// Enqueues the convolution on `stream` (a CUstream / cudaStream_t; null: the default stream; ignored by the
    /// emulator, which returns when done). Does nothing when the batch is 0. Throws Error(bad_input) on a null tensor
    /// or one that is not aligned to its elements, Error(device) when the launch is refused.
    void launch(const Tensors& tensors, void* stream = nullptr) const;

    /// Enqueues on `stream` what the kernel does with the weight alone, once for many calls: the result goes to
    /// `packed`, `packed_weight_bytes()` bytes on the device at a multiple of `workspace_alignment()`. It holds as long
    /// as `packed` and the values of `weight` do: new values (a training step) need a new call of prepare. Where
    /// `packed_weight_bytes()` is 0 nothing is enqueued, and `packed` may be null: a program need not tell the cases
    /// apart. Throws Error(bad_input) on a null or less aligned address (see alignment), Error(device).
    [[nodiscard]] PreparedWeights prepare(const void* weight, void* packed, void* stream = nullptr) const;

    /// The same as launch(tensors, stream) bit for bit, without what prepare has done already; enqueued behind it, on
    /// its stream or one that waits for it. The weight is still given: less aligned tensors go to the reference kernel.
    /// The workspace may be `workspace_bytes_prepared()` bytes. Several calls, on several streams too, may share the
    /// packed weights, but not a workspace. Throws Error(bad_input) also where `weights` were not made by this kernel
    /// or another one that was fetched for the same problem and tolerance from the same runtime.
    void launch(const Tensors& tensors, const PreparedWeights& weights, void* stream = nullptr) const;

    [[nodiscard]] Rung rung() const;
    /// Packed weights included: a call that is not prepared packs them into its workspace.
    [[nodiscard]] std::int64_t workspace_bytes() const;
    [[nodiscard]] std::int64_t workspace_bytes_prepared() const;
    /// 0 where the kernel reads the weight as it is.
    [[nodiscard]] std::int64_t packed_weight_bytes() const;
    /// Bytes that the tensors' addresses should be multiples of. A call with less aligned ones (views of other tensors)
    /// is right too, but runs on the reference kernel: far slower.
    [[nodiscard]] std::int64_t alignment() const;
    /// Bytes that the addresses of the workspace and of packed weights must be multiples of, 16 to 256.
    [[nodiscard]] std::int64_t workspace_alignment() const;
    [[nodiscard]] const Problem& problem() const;
    /// For people: "direct block_size=128 ..., 10.8 ms when tuned, error 6e-07".
    [[nodiscard]] const std::string& description() const;
    /// Sentences about anything passed over on the way (an unreadable database, a damaged row); empty normally.
    [[nodiscard]] const std::string& warnings() const;

private:
    friend class Runtime;
    struct Impl;
    explicit Kernel(std::unique_ptr<Impl> impl);
    void launch(const Tensors& tensors, void* packed, void* stream) const;
    std::unique_ptr<Impl> impl_;
};

/// The arithmetic that a kernel may use. What it may differ by is the tolerance's matter.
enum class Math {
    any,     ///< whatever is fast: TF32, products of split numbers, ...
    strict,  ///< plain fp32 arithmetic (or better); with 16-bit tensors: on values converted to fp32
};

/// Where to run and which database to ask.
struct RuntimeOptions {
    /// "auto" (the current CUDA context, else the first CUDA device, else the emulator), "cuda:N", or "emulator".
    std::string device = "auto";
    /// Empty: the default path (TCONV_DATABASE, then XDG).
    std::string database;
};

/// One device and one database, opened once. A database that cannot be read is a miss with a warning. Safe from several
/// threads.
class Runtime {
public:
    /// Throws Error(unavailable) when the device is not there, naming what is missing.
    explicit Runtime(const RuntimeOptions& options = {});
    Runtime(Runtime&&) noexcept;
    Runtime& operator=(Runtime&&) noexcept;
    ~Runtime();

    /// The fastest kernel for `problem` with measured error <= tolerance (negative: the dtype's default), by the ladder
    /// exact -> same but for batch -> reference. From stored machine code alone: nothing is compiled on CUDA. Throws
    /// Error(bad_input) for an invalid problem. What was found for a problem and tolerance is kept, so that fetching it
    /// again costs a look-up in memory; a winner stored meanwhile is seen by the next Runtime. With Math::strict it is
    /// the fastest of those kernels that use plain fp32 arithmetic alone; the reference kernel, in fp64, counts among
    /// them.
    [[nodiscard]] Kernel fetch(const Problem& problem, double tolerance = -1, Math math = Math::any) const;

    /// "NVIDIA H200, cc 9.0, 132 multiprocessors".
    [[nodiscard]] std::string device() const;

    /// True on the emulator, where tensors are host addresses; false on CUDA.
    [[nodiscard]] bool emulated() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tconv
