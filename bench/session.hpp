#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "bench/cudnn/cudnn.hpp"
#include "bench/our_kernel.hpp"
#include "bench/peer_search.hpp"
#include "bench/run.hpp"
#include "device/driver/nvml.hpp"
#include "device/memory.hpp"
#include "tuner/ceiling_kernels.hpp"
#include "tuner/validator.hpp"

namespace tconv {

/// One thing to compare: a layer with its type and layout, in one mode.
struct BenchCell {
    std::string layer;
    std::string group;
    Problem problem;
    Mode mode = Mode::fp32;
};

/// Measures cells one after the other on one device: tconv's kernel, the peer's best and a copy at the card's
/// bandwidth, in turn, on the same tensors. Inputs and reference results stay for the next cell of the same problem.
class BenchSession {
public:
    /// The peer's library and `monitor` may be null; all outlive the object.
    BenchSession(const KernelSource& source, Peer peer, const GpuMonitor* monitor);
    BenchSession(const BenchSession&) = delete;
    BenchSession& operator=(const BenchSession&) = delete;
    ~BenchSession();

    /// `stage` is told what is being done. A side that fails is a reason in the result. Throws Error(device) where the
    /// device itself is lost.
    [[nodiscard]] BenchResult measure(const BenchCell& cell, const std::function<void(const std::string&)>& stage,
                                      const std::stop_token& stop);

private:
    struct Sides;

    void prepare(const Problem& problem);
    void find_ours(const BenchCell& cell, const std::stop_token& stop, BenchResult& result, Sides& sides);
    void find_peer(const BenchCell& cell, const std::stop_token& stop, BenchResult& result, Sides& sides);
    /// What each side enqueues in a call, ours first; all share the tensors and the workspace.
    [[nodiscard]] std::vector<std::function<void()>> works_of(Sides& sides);
    void interleave(Sides& sides, BenchResult& result);
    [[nodiscard]] GpuConditions conditions();
    void copy_once();

    KernelSource source_;
    Peer peer_;
    const GpuMonitor* monitor_;
    CeilingKernels kernels_;
    std::unique_ptr<DeviceMemory> copy_source_, copy_target_;
    std::unique_ptr<Validator> validator_;
};

}  // namespace tconv
