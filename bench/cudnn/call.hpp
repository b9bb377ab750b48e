#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/cudnn/context.hpp"
#include "bench/cudnn/layout_kernels.hpp"
#include "bench/cudnn/library.hpp"
#include "bench/cudnn/plan.hpp"
#include "device/launch.hpp"

namespace tconv::cudnn {

/// The library, its handles and our own kernels on one device.
class Session {
public:
    /// Throws Error(unavailable) where the library does not start on the device, Error(compile).
    Session(Device& device, Builder& builder, const Library& opened, const Context& where);
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session();

    /// The handle that plans are made with, and run with on `stream`. Throws Error(device).
    [[nodiscard]] void* handle() const { return handles_.front().get(); }
    [[nodiscard]] void* handle_on(StreamHandle stream);
    /// Handles for as many threads as make `plans` plans: at most one a processor. Throws Error(unavailable).
    [[nodiscard]] const std::vector<std::shared_ptr<void>>& handles_for(std::size_t plans);

    const Library library;
    const Context context;
    LayoutKernels kernels;

private:
    std::vector<std::shared_ptr<void>> handles_;
    StreamHandle stream_ = nullptr;  // of the first handle
};

/// One way of laying out what the library sees.
struct Variant {
    Layout tensors = Layout::nchw;
    Layout weight = Layout::nchw;
    bool fused_bias = false;

    friend bool operator==(const Variant&, const Variant&) = default;
};

/// "nhwc, weight krsc, bias fused"; what goes without saying is left out.
[[nodiscard]] std::string name_of(const Variant& variant, const Problem& problem);

/// One whole computation of a problem: new layouts where the variant needs them, the plan, and what it leaves to do.
class Call {
public:
    Call(std::shared_ptr<Session> session, const Problem& problem, const Variant& variant, Plan&& plan);

    /// The plan's workspace and behind it the tensors laid out anew.
    [[nodiscard]] std::int64_t workspace_bytes() const { return workspace_bytes_; }
    /// The weight laid out anew: 0 where the variant takes it as it is.
    [[nodiscard]] std::int64_t packed_weight_bytes() const { return weight_.needed ? weight_.bytes : 0; }

    /// Lays out the weight anew on the stream of the tensors. Throws Error(device).
    void pack(const CallTensors& tensors);
    /// Enqueues everything else. Throws Error(device).
    void run_packed(const CallTensors& tensors);

private:
    /// A tensor of the call as `batch` matrices, and where in the workspace its other layout lies.
    struct Relaid {
        bool needed = false;
        std::int64_t batch = 1, channels = 1, positions = 1;
        std::int64_t bytes = 0;
        std::int64_t offset = 0;
    };

    [[nodiscard]] Relaid relaid(std::int64_t batch, std::int64_t channels, std::int64_t positions, bool differs) const;
    void place(Relaid& tensor);
    void lay_out(const Relaid& tensor, Layout wanted, DevicePointer source, DevicePointer target, StreamHandle stream);
    void finish_output(const CallTensors& tensors, DevicePointer computed);

    std::shared_ptr<Session> session_;
    Problem problem_;
    Variant variant_;
    Plan plan_;
    std::int64_t workspace_bytes_ = 0;
    Relaid input_, weight_, output_;
};

}  // namespace tconv::cudnn
