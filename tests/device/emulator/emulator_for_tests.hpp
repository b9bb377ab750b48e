#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "device/emulator/emulator.hpp"

namespace tconv {

/// Sets an environment variable and puts the old value back at the end.
class ScopedVariable {
public:
    ScopedVariable(std::string name, const std::string& value);
    ScopedVariable(const ScopedVariable&) = delete;
    ScopedVariable& operator=(const ScopedVariable&) = delete;
    ~ScopedVariable();

private:
    std::string name_;
    std::string before_;
    bool was_set_;
};

/// Text of kernel_sources/tconv.cuh.
std::string shared_header();

/// `source` as line 1 and following of "test.cu"; with `header` the shared header stands before it.
CompileRequest request_for(const std::string& source, const std::vector<std::string>& kernels, bool header = false);

/// Compiled code; a source that does not compile fails the test.
CompiledCode compile_or_fail(const std::string& source, const std::vector<std::string>& kernels, bool header = false);

/// Device memory with the elements of a vector.
template <class T>
class Buffer {
public:
    Buffer(Device& device, const std::vector<T>& values) : device_(device), size_(values.size()) {
        pointer_ = device.allocate(size_ * sizeof(T));
        device.copy_to_device(pointer_, values.data(), size_ * sizeof(T));
    }
    Buffer(Device& device, std::size_t size, T value = T()) : Buffer(device, std::vector<T>(size, value)) {}
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { device_.release(pointer_); }

    [[nodiscard]] DevicePointer pointer() const { return pointer_; }
    [[nodiscard]] std::vector<T> values() const {
        std::vector<T> values(size_);
        device_.copy_to_host(values.data(), pointer_, size_ * sizeof(T));
        return values;
    }

private:
    Device& device_;
    std::size_t size_;
    DevicePointer pointer_ = 0;
};

/// Launches with arguments given by value.
template <class... Arguments>
void launch(Device& device, Module& module, const std::string& kernel, const LaunchGeometry& geometry,
            Arguments... arguments) {
    void* addresses[] = {static_cast<void*>(&arguments)..., nullptr};
    device.launch(module, kernel, geometry, addresses, nullptr);
    device.synchronize();
}

/// The sentence of the Error(device) that `action` throws; fails the test when it throws none.
template <class Action>
std::string failure_of(Action action);

}  // namespace tconv

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/scratch_folder.hpp"

template <class Action>
std::string tconv::failure_of(Action action) {
    try {
        action();
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::device);
        return error.what();
    }
    FAIL("no error was thrown");
    return {};
}
