#pragma once

#include "device/device.hpp"

namespace tconv::cudnn {

/// The CUDA context in which a device's memory lies. Libraries on the CUDA runtime work in the context that is current,
/// which tconv's own calls leave as they found it.
class Context {
public:
    /// No context: nothing is made current.
    Context() = default;
    /// Throws Error(device).
    explicit Context(Device& device);

    /// Makes the context current as long as the object lives. Throws Error(device).
    class Current {
    public:
        explicit Current(const Context& context);
        Current(const Current&) = delete;
        Current& operator=(const Current&) = delete;
        ~Current();

    private:
        bool pushed_ = false;
    };

private:
    void* handle_ = nullptr;
};

}  // namespace tconv::cudnn
