#include "device/driver/driver_library.hpp"

#include <cuda.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "core/error.hpp"

namespace tconv::cuda {
namespace {

std::vector<std::string> library_names() {
    const char* named = std::getenv("TCONV_CUDA_DRIVER");
    if (named != nullptr && *named != '\0') return {named};
    return {"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};
}

void* find_symbol(void* handle, const char* name) {
    return dlsym(handle, name);
}

std::string name_of(void* handle, CUresult result) {
    const auto name_function = reinterpret_cast<decltype(&cuGetErrorName)>(find_symbol(handle, "cuGetErrorName"));
    const auto text_function = reinterpret_cast<decltype(&cuGetErrorString)>(find_symbol(handle, "cuGetErrorString"));
    const char* name = nullptr;
    const char* text = nullptr;
    const bool named = name_function != nullptr && name_function(result, &name) == CUDA_SUCCESS && name != nullptr;
    const bool told = text_function != nullptr && text_function(result, &text) == CUDA_SUCCESS && text != nullptr;
    if (!named) return fmt::format("error {}", static_cast<int>(result));
    return told ? fmt::format("{} ({})", name, text) : std::string(name);
}

void initialise(DriverLibrary& library, void* handle) {
    const auto init = reinterpret_cast<decltype(&cuInit)>(find_symbol(handle, "cuInit"));
    const auto version = reinterpret_cast<decltype(&cuDriverGetVersion)>(find_symbol(handle, "cuDriverGetVersion"));
    if (init == nullptr || version == nullptr) {
        library.reason = "The CUDA driver's library lacks cuInit or cuDriverGetVersion.";
        return;
    }
    if (const CUresult result = init(0); result != CUDA_SUCCESS) {
        library.reason = fmt::format("The CUDA driver does not start: cuInit: {}.", name_of(handle, result));
        return;
    }
    if (const CUresult result = version(&library.version); result != CUDA_SUCCESS) {
        library.reason = fmt::format("cuDriverGetVersion: {}.", name_of(handle, result));
        return;
    }
    library.handle = handle;
}

DriverLibrary open() {
    DriverLibrary library;
    for (const std::string& name : library_names()) {
        if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
            initialise(library, handle);
            return library;
        }
        // The first name's message is the telling one; the others are guesses.
        if (library.reason.empty()) library.reason = fmt::format("The CUDA driver is not there: {}.", dlerror());
    }
    return library;
}

}  // namespace

const DriverLibrary& driver_library() {
    static const DriverLibrary library = open();
    return library;
}

void* driver_symbol(const char* name) {
    const DriverLibrary& library = driver_library();
    if (library.handle == nullptr) throw Error(ErrorKind::unavailable, library.reason);
    void* symbol = find_symbol(library.handle, name);
    if (symbol == nullptr) {
        throw Error(ErrorKind::unavailable, fmt::format("The CUDA driver (CUDA {}) has no {}: it is too old.",
                                                        version_text(library.version), name));
    }
    return symbol;
}

std::string error_text(int result) {
    return name_of(driver_library().handle, static_cast<CUresult>(result));
}

void check(int result, const char* call, const std::string& subject) {
    if (result == CUDA_SUCCESS) return;
    const std::string where = subject.empty() ? std::string(call) : fmt::format("{}({})", call, subject);
    throw Error(ErrorKind::device, fmt::format("{}: {}", where, error_text(result)));
}

DeviceInfo query_device(int ordinal) {
    const auto get = driver_function<decltype(cuDeviceGet)>("cuDeviceGet");
    const auto get_name = driver_function<decltype(cuDeviceGetName)>("cuDeviceGetName");
    const auto get_attribute = driver_function<decltype(cuDeviceGetAttribute)>("cuDeviceGetAttribute");
    const auto total_memory = driver_function<decltype(cuDeviceTotalMem_v2)>("cuDeviceTotalMem_v2");

    const std::string subject = fmt::format("cuda:{}", ordinal);
    CUdevice device = 0;
    check(get(&device, ordinal), "cuDeviceGet", subject);
    const auto attribute = [&](CUdevice_attribute which) {
        int value = 0;
        check(get_attribute(&value, which, device), "cuDeviceGetAttribute", subject);
        return value;
    };
    std::array<char, 256> name{};
    check(get_name(name.data(), static_cast<int>(name.size()) - 1, device), "cuDeviceGetName", subject);
    std::size_t memory = 0;
    check(total_memory(&memory, device), "cuDeviceTotalMem", subject);

    DeviceInfo info;
    info.kind = DeviceKind::cuda;
    info.name = name.data();
    info.compute_major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    info.compute_minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    info.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    info.warp_size = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    info.max_threads_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    info.registers_per_multiprocessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
    info.shared_memory_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    info.shared_memory_per_multiprocessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    info.l2_bytes = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    info.memory_bytes = static_cast<std::int64_t>(memory);
    info.driver_version = version_text(driver_library().version);
    return info;
}

std::string version_text(int version) {
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace tconv::cuda
