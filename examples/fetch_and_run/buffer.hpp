#pragma once

#include <string>
#include <vector>

/// "auto" where this program can reach a GPU's memory, else "emulator".
std::string default_device();

/// Makes "cuda:N" the current device of the CUDA runtime; does nothing for other names.
void select_device(const std::string& device);

/// Waits until the device has done everything that it was given.
void wait(bool on_gpu);

/// Floats in device memory, or in host memory for the emulator. No floats: a null address.
class Buffer {
public:
    Buffer(std::vector<float> values, bool on_gpu);
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer();

    [[nodiscard]] void* address() const;
    [[nodiscard]] std::vector<float> download() const;

private:
    std::vector<float> host_;
    void* device_ = nullptr;
};
