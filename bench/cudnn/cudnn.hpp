#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/problem.hpp"
#include "device/device.hpp"
#include "tuner/builder.hpp"
#include "tuner/runnable.hpp"

namespace tconv {

/// How far the library may leave plain arithmetic. 16-bit tensors always accumulate in fp32.
enum class CudnnMath {
    strict,  ///< fp32 tensors: fp32 arithmetic alone
    tf32,    ///< fp32 tensors: tensor cores too, which round the inputs to TF32
};

/// The memory order in which the library works.
enum class CudnnLayout {
    same,   ///< that of the problem
    other,  ///< the other one: each call transposes the input before and the output after
};

struct CudnnRequest {
    CudnnMath math = CudnnMath::strict;
    CudnnLayout layout = CudnnLayout::same;
    std::int64_t workspace_limit = std::int64_t{1} << 30;  ///< bytes that an engine may ask for
};

/// Whether the library opens.
struct CudnnStatus {
    bool available = false;
    std::string version;  ///< "9.19.0"
    std::string path;
    std::string reason;  ///< one sentence when not available
};

/// What became of the engine configurations that the library listed.
struct CudnnCounts {
    int listed = 0;        ///< by all heuristics together, and engines that none of them names
    int repeated = 0;      ///< listed before
    int against_rule = 0;  ///< computes otherwise than the math allows
    int over_limit = 0;    ///< of those built: needs more workspace than allowed
    int failed = 0;        ///< of those built: the library refused
};

/// One of `runnable` and `reason` (a sentence).
struct CudnnBuild {
    std::optional<Runnable> runnable;
    std::string reason;
};

/// Every way in which cuDNN offers to compute one problem, without repeats: in the order of its heuristics, then the
/// engines that no heuristics name, with their default settings. Keeps what it needs of the library; the device
/// outlives it.
class CudnnOffers {
public:
    CudnnOffers() = default;
    CudnnOffers(const CudnnOffers&) = delete;
    CudnnOffers& operator=(const CudnnOffers&) = delete;
    virtual ~CudnnOffers() = default;

    [[nodiscard]] virtual std::size_t size() const = 0;
    [[nodiscard]] virtual std::string description(std::size_t index) const = 0;
    /// Makes the execution plans of `count` offers from `first` on, several at once: one can take seconds where the
    /// engine compiles its kernel. The runnables may outlive this object. A refusal is a reason, never an Error.
    [[nodiscard]] virtual std::vector<CudnnBuild> build(std::size_t first, std::size_t count) = 0;
    [[nodiscard]] CudnnBuild build(std::size_t index) { return std::move(build(index, 1).front()); }
    [[nodiscard]] virtual const CudnnCounts& counts() const = 0;
    /// What the library refused as a whole, one sentence each: "heuristics B, bias fused: ...".
    [[nodiscard]] virtual const std::vector<std::string>& refusals() const = 0;
};

/// NVIDIA's library of neural-network kernels on one device, opened at run time.
class Cudnn {
public:
    Cudnn() = default;
    Cudnn(const Cudnn&) = delete;
    Cudnn& operator=(const Cudnn&) = delete;
    virtual ~Cudnn() = default;

    [[nodiscard]] virtual const CudnnStatus& status() const = 0;
    /// Throws Error(bad_input) with the reason where cuDNN has no words for the problem.
    [[nodiscard]] virtual std::unique_ptr<CudnnOffers> offers(const Problem& problem, const CudnnRequest& request) = 0;
};

/// Opens the library alone, without a device. `path` is a file or its folder; empty: TCONV_CUDNN, else libcudnn.so.9
/// on the loader's path. Never throws.
[[nodiscard]] CudnnStatus cudnn_status(const std::string& path = {});

/// Opens the library on the context of `device`, a CUDA device; work goes to the default stream. `device` outlives the
/// result. Throws Error(unavailable) naming what is missing, Error(compile) where the kernels that lay tensors out anew
/// do not compile.
[[nodiscard]] std::unique_ptr<Cudnn> open_cudnn(Device& device, Builder& builder, const std::string& path = {});

}  // namespace tconv
