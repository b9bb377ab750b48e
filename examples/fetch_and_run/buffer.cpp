#include "buffer.hpp"

#include <stdexcept>
#include <utility>

#ifdef EXAMPLE_WITH_CUDA

#include <cuda_runtime_api.h>

namespace {

void check(cudaError_t result, const char* call) {
    if (result != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(result));
}

void* upload(const std::vector<float>& values) {
    void* address = nullptr;
    check(cudaMalloc(&address, values.size() * sizeof(float)), "cudaMalloc");
    check(cudaMemcpy(address, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice), "cudaMemcpy");
    return address;
}

}  // namespace

std::string default_device() {
    return "auto";
}

void select_device(const std::string& device) {
    if (device.rfind("cuda:", 0) == 0) check(cudaSetDevice(std::stoi(device.substr(5))), "cudaSetDevice");
}

void wait(bool on_gpu) {
    if (on_gpu) check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

Buffer::Buffer(std::vector<float> values, bool on_gpu) : host_(std::move(values)) {
    if (on_gpu && !host_.empty()) device_ = upload(host_);
}

Buffer::~Buffer() {
    cudaFree(device_);
}

std::vector<float> Buffer::download() const {
    if (device_ == nullptr) return host_;
    std::vector<float> values(host_.size());
    check(cudaMemcpy(values.data(), device_, values.size() * sizeof(float), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return values;
}

#else

std::string default_device() {
    return "emulator";
}

void select_device(const std::string&) {}

void wait(bool) {}

Buffer::Buffer(std::vector<float> values, bool on_gpu) : host_(std::move(values)) {
    if (on_gpu) throw std::runtime_error("this example was built without the CUDA runtime: use --device emulator");
}

Buffer::~Buffer() = default;

std::vector<float> Buffer::download() const {
    return host_;
}

#endif

void* Buffer::address() const {
    if (device_ != nullptr) return device_;
    return host_.empty() ? nullptr : const_cast<float*>(host_.data());
}
