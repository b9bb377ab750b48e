#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "device/emulator/emulator.hpp"
#include "device/launch.hpp"

namespace tconv::test {

/// An emulator and its compiler, made once a test program.
struct Emulated {
    std::unique_ptr<Device> device = make_emulator();
    std::unique_ptr<Compiler> compiler = make_host_compiler();

    /// A test runs what it compiles once, on small tensors, and products of matrices are the emulator's: optimising
    /// takes longer than it saves, but for the family whose threads multiply many times themselves. With sanitizers for
    /// that one too.
    [[nodiscard]] static std::string optimisation([[maybe_unused]] const std::vector<std::string>& kernels) {
#ifndef TCONV_SANITIZE
        const auto multiplies = [](const std::string& kernel) { return kernel.rfind("tconv_fma", 0) == 0; };
        if (std::any_of(kernels.begin(), kernels.end(), multiplies)) return "-O1";
#endif
        return "-O0";
    }

    /// Compiles and loads; the log becomes the error where it does not compile.
    [[nodiscard]] std::unique_ptr<Module> build(const std::string& source, const std::vector<std::string>& kernels) {
        CompileRequest request;
        request.name = "test.cu";
        request.source = source;
        request.kernels = kernels;
        request.options = {optimisation(kernels)};
        const CompileResult result = compiler->compile(request);
        if (!result.ok) throw Error(ErrorKind::compile, result.log);
        return device->load(result.code);
    }
};

[[nodiscard]] inline Emulated& emulated() {
    static Emulated instance;
    return instance;
}

/// Exactly-sized memory on a device, filled from a vector.
template <class T>
class OnDevice {
public:
    OnDevice(Device& device, const std::vector<T>& values)
        : device_(device), count_(values.size()), address_(device.allocate(std::max<std::size_t>(bytes(), 1))) {
        if (count_ > 0) device.copy_to_device(address_, values.data(), bytes());
    }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;
    ~OnDevice() { device_.release(address_); }

    [[nodiscard]] DevicePointer address() const { return address_; }
    [[nodiscard]] std::vector<T> read() const {
        std::vector<T> values(count_);
        if (count_ > 0) device_.copy_to_host(values.data(), address_, bytes());
        return values;
    }

private:
    [[nodiscard]] std::size_t bytes() const { return count_ * sizeof(T); }
    Device& device_;
    std::size_t count_;
    DevicePointer address_;
};

}  // namespace tconv::test
