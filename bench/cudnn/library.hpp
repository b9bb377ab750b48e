#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bench/cudnn/cudnn.hpp"

namespace tconv::cudnn {

/// The library's entry points, found at run time. Enumerations of cudnn.h travel as int, descriptors and handles as
/// void*, so that the header is needed in source files alone. Copies share the library, which stays open for the life
/// of the process. Calls throw Error(device) "call(subject): CUDNN_STATUS_X (text)".
class Library {
public:
    /// See `cudnn_status`. Throws Error(unavailable).
    explicit Library(const std::string& path);

    [[nodiscard]] const CudnnStatus& status() const { return status_; }

    /// A handle on the CUDA context that is current. Throws Error(unavailable).
    [[nodiscard]] std::shared_ptr<void> create_handle() const;

    /// Where the handle's executions are enqueued from now on; null is the default stream.
    void set_stream(void* handle, void* stream) const;

    [[nodiscard]] void* create_descriptor(int type, const char* subject) const;
    void destroy_descriptor(void* descriptor) const noexcept;
    void finalize(void* descriptor, const char* subject) const;
    void set_attribute(void* descriptor, int attribute, int type, std::int64_t count, const void* values,
                       const char* subject) const;
    /// Number of elements that are there; at most `count` are written to `values`.
    [[nodiscard]] std::int64_t get_attribute(void* descriptor, int attribute, int type, std::int64_t count,
                                             void* values, const char* subject) const;
    void execute(void* handle, void* plan, void* variant_pack) const;

private:
    struct Calls;
    void check(int result, const char* call, const char* subject) const;

    std::shared_ptr<const Calls> calls_;
    CudnnStatus status_;
};

}  // namespace tconv::cudnn
