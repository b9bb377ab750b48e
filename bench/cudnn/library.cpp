#include "bench/cudnn/library.hpp"

#include <cudnn_graph.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "core/error.hpp"

namespace tconv::cudnn {
namespace {

constexpr const char* k_file = "libcudnn.so.9";
constexpr std::size_t k_major = 9;

std::string file_for(const std::string& path) {
    const char* named = std::getenv("TCONV_CUDNN");
    const std::string chosen = !path.empty() ? path : named != nullptr ? named : "";
    if (chosen.empty()) return k_file;
    std::error_code ignored;
    return std::filesystem::is_directory(chosen, ignored) ? (std::filesystem::path(chosen) / k_file).string() : chosen;
}

void* opened(const std::string& file) {
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw Error(ErrorKind::unavailable, fmt::format("cuDNN is not there: {}.", dlerror()));
    return library;
}

std::string path_of(void* symbol, const std::string& fallback) {
    Dl_info where{};
    return dladdr(symbol, &where) != 0 && where.dli_fname != nullptr ? where.dli_fname : fallback;
}

// Versions are 10000 * major + 100 * minor + patch from 9 on, 1000 * major before.
std::string version_text(std::size_t version) {
    const std::size_t major = version < 10000 ? version / 1000 : version / 10000;
    return fmt::format("{}.{}.{}", major, version % (version < 10000 ? 1000 : 10000) / 100, version % 100);
}

}  // namespace

struct Library::Calls {
    explicit Calls(const std::string& file) : library(opened(file)) {}

    template <class Function>
    Function* find(const char* name) const {
        void* symbol = dlsym(library, name);
        if (symbol == nullptr) throw Error(ErrorKind::unavailable, fmt::format("The cuDNN library lacks {}.", name));
        return reinterpret_cast<Function*>(symbol);
    }

    template <class Function>
    using Pointer = Function*;

    void* library;
#define TCONV_CUDNN_CALL(member, name) Pointer<decltype(name)> member = find<decltype(name)>(#name)
    TCONV_CUDNN_CALL(version, cudnnGetVersion);
    TCONV_CUDNN_CALL(error_name, cudnnGetErrorString);
    TCONV_CUDNN_CALL(last_error, cudnnGetLastErrorString);
    TCONV_CUDNN_CALL(create, cudnnCreate);
    TCONV_CUDNN_CALL(destroy, cudnnDestroy);
    TCONV_CUDNN_CALL(set_stream, cudnnSetStream);
    TCONV_CUDNN_CALL(create_descriptor, cudnnBackendCreateDescriptor);
    TCONV_CUDNN_CALL(destroy_descriptor, cudnnBackendDestroyDescriptor);
    TCONV_CUDNN_CALL(finalize, cudnnBackendFinalize);
    TCONV_CUDNN_CALL(set_attribute, cudnnBackendSetAttribute);
    TCONV_CUDNN_CALL(get_attribute, cudnnBackendGetAttribute);
    TCONV_CUDNN_CALL(execute, cudnnBackendExecute);
#undef TCONV_CUDNN_CALL

    std::string text(int result) const {
        std::array<char, 512> message{};
        last_error(message.data(), message.size() - 1);
        std::string said(message.data());
        said = said.substr(0, said.find('\n'));
        const char* name = error_name(static_cast<cudnnStatus_t>(result));
        return said.empty() ? std::string(name) : fmt::format("{} ({})", name, said);
    }
};

Library::Library(const std::string& path) {
    const std::string file = file_for(path);
    calls_ = std::make_shared<const Calls>(file);
    const std::size_t version = calls_->version();
    status_.version = version_text(version);
    status_.path = path_of(reinterpret_cast<void*>(calls_->version), file);
    if (version / 10000 != k_major) {
        throw Error(ErrorKind::unavailable, fmt::format("cuDNN {} ({}) is not supported: version {} is needed.",
                                                        status_.version, status_.path, k_major));
    }
    status_.available = true;
}

void Library::check(int result, const char* call, const char* subject) const {
    if (result == CUDNN_STATUS_SUCCESS) return;
    throw Error(ErrorKind::device, fmt::format("{}({}): {}", call, subject, calls_->text(result)));
}

std::shared_ptr<void> Library::create_handle() const {
    cudnnHandle_t handle = nullptr;
    if (const cudnnStatus_t result = calls_->create(&handle); result != CUDNN_STATUS_SUCCESS) {
        throw Error(ErrorKind::unavailable,
                    fmt::format("cuDNN does not start: cudnnCreate: {}.", calls_->text(result)));
    }
    return {handle, [calls = calls_](void* pointer) { calls->destroy(static_cast<cudnnHandle_t>(pointer)); }};
}

void Library::set_stream(void* handle, void* stream) const {
    check(calls_->set_stream(static_cast<cudnnHandle_t>(handle), static_cast<cudaStream_t>(stream)), "cudnnSetStream",
          "stream");
}

void* Library::create_descriptor(int type, const char* subject) const {
    cudnnBackendDescriptor_t descriptor = nullptr;
    check(calls_->create_descriptor(static_cast<cudnnBackendDescriptorType_t>(type), &descriptor),
          "cudnnBackendCreateDescriptor", subject);
    return descriptor;
}

void Library::destroy_descriptor(void* descriptor) const noexcept {
    calls_->destroy_descriptor(descriptor);
}

void Library::finalize(void* descriptor, const char* subject) const {
    check(calls_->finalize(descriptor), "cudnnBackendFinalize", subject);
}

void Library::set_attribute(void* descriptor, int attribute, int type, std::int64_t count, const void* values,
                            const char* subject) const {
    check(calls_->set_attribute(descriptor, static_cast<cudnnBackendAttributeName_t>(attribute),
                                static_cast<cudnnBackendAttributeType_t>(type), count, values),
          "cudnnBackendSetAttribute", subject);
}

std::int64_t Library::get_attribute(void* descriptor, int attribute, int type, std::int64_t count, void* values,
                                    const char* subject) const {
    std::int64_t there = 0;
    check(calls_->get_attribute(descriptor, static_cast<cudnnBackendAttributeName_t>(attribute),
                                static_cast<cudnnBackendAttributeType_t>(type), count, &there, values),
          "cudnnBackendGetAttribute", subject);
    return there;
}

void Library::execute(void* handle, void* plan, void* variant_pack) const {
    check(calls_->execute(static_cast<cudnnHandle_t>(handle), plan, variant_pack), "cudnnBackendExecute", "plan");
}

}  // namespace tconv::cudnn
