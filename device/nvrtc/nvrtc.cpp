#include "device/nvrtc/nvrtc.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <nvrtc.h>

#include <chrono>
#include <cstdlib>

#include "core/error.hpp"
#include "device/nvrtc/nvrtc_library.hpp"

namespace tconv {
namespace {

// NVRTC's functions; `reason` is one sentence when the library or one of them is missing.
struct Calls {
    decltype(&nvrtcVersion) version = nullptr;
    decltype(&nvrtcGetErrorString) error_string = nullptr;
    decltype(&nvrtcCreateProgram) create = nullptr;
    decltype(&nvrtcDestroyProgram) destroy = nullptr;
    decltype(&nvrtcCompileProgram) compile = nullptr;
    decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
    decltype(&nvrtcGetProgramLog) log = nullptr;
    decltype(&nvrtcGetCUBINSize) cubin_size = nullptr;
    decltype(&nvrtcGetCUBIN) cubin = nullptr;
    decltype(&nvrtcGetPTXSize) ptx_size = nullptr;
    decltype(&nvrtcGetPTX) ptx = nullptr;
    std::string path;
    std::string version_text;
    std::string reason;
};

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

template <class Function>
void resolve(void* handle, const char* name, Function*& function, std::string& reason) {
    function = reinterpret_cast<Function*>(dlsym(handle, name));
    if (function == nullptr && reason.empty()) reason = fmt::format("The NVRTC library lacks {}.", name);
}

Calls open_calls() {
    const nvrtc::Library library = nvrtc::open_library(nvrtc::library_candidates(environment, TCONV_TOOLKIT_LIBRARIES));
    Calls calls;
    calls.path = library.path;
    calls.reason = library.reason;
    if (library.handle == nullptr) return calls;
    resolve(library.handle, "nvrtcVersion", calls.version, calls.reason);
    resolve(library.handle, "nvrtcGetErrorString", calls.error_string, calls.reason);
    resolve(library.handle, "nvrtcCreateProgram", calls.create, calls.reason);
    resolve(library.handle, "nvrtcDestroyProgram", calls.destroy, calls.reason);
    resolve(library.handle, "nvrtcCompileProgram", calls.compile, calls.reason);
    resolve(library.handle, "nvrtcGetProgramLogSize", calls.log_size, calls.reason);
    resolve(library.handle, "nvrtcGetProgramLog", calls.log, calls.reason);
    resolve(library.handle, "nvrtcGetCUBINSize", calls.cubin_size, calls.reason);
    resolve(library.handle, "nvrtcGetCUBIN", calls.cubin, calls.reason);
    resolve(library.handle, "nvrtcGetPTXSize", calls.ptx_size, calls.reason);
    resolve(library.handle, "nvrtcGetPTX", calls.ptx, calls.reason);
    if (!calls.reason.empty()) return calls;
    int major = 0;
    int minor = 0;
    if (calls.version(&major, &minor) != NVRTC_SUCCESS) {
        calls.reason = fmt::format("The NVRTC library {} does not tell its version.", calls.path);
        return calls;
    }
    calls.version_text = fmt::format("{}.{}", major, minor);
    return calls;
}

const Calls& calls() {
    static const Calls table = open_calls();
    return table;
}

void check(nvrtcResult result, const char* call, const std::string& subject) {
    if (result == NVRTC_SUCCESS) return;
    throw Error(ErrorKind::compile, fmt::format("{}({}): {}", call, subject, calls().error_string(result)));
}

class Program {
public:
    explicit Program(const CompileRequest& request) : name_(request.name) {
        check(calls().create(&handle_, request.source.c_str(), name_.c_str(), 0, nullptr, nullptr),
              "nvrtcCreateProgram", name_);
    }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program() { calls().destroy(&handle_); }

    [[nodiscard]] nvrtcResult compile(const std::vector<std::string>& options) const {
        std::vector<const char*> pointers;
        for (const std::string& option : options)
            pointers.push_back(option.c_str());
        return calls().compile(handle_, static_cast<int>(pointers.size()), pointers.data());
    }

    [[nodiscard]] std::string log() const {
        std::string text = fetch(calls().log_size, calls().log, "nvrtcGetProgramLog");
        while (!text.empty() && (text.back() == '\0' || text.back() == '\n'))
            text.pop_back();
        return text;
    }

    [[nodiscard]] std::string cubin() const { return fetch(calls().cubin_size, calls().cubin, "nvrtcGetCUBIN"); }
    [[nodiscard]] std::string ptx() const { return fetch(calls().ptx_size, calls().ptx, "nvrtcGetPTX"); }

private:
    template <class Size, class Bytes>
    [[nodiscard]] std::string fetch(Size size_of, Bytes bytes_of, const char* call) const {
        std::size_t size = 0;
        check(size_of(handle_, &size), call, name_);
        std::string bytes(size, '\0');
        if (size != 0) check(bytes_of(handle_, bytes.data()), call, name_);
        return bytes;
    }

    nvrtcProgram handle_ = nullptr;
    std::string name_;
};

class NvrtcCompiler final : public Compiler {
public:
    std::string version() const override { return "NVRTC " + calls().version_text; }

    CompileResult compile(const CompileRequest& request) override {
        const auto start = std::chrono::steady_clock::now();
        std::vector<std::string> options{"--gpu-architecture=" + request.architecture, "-std=c++17", "-default-device"};
        options.insert(options.end(), request.options.begin(), request.options.end());

        const Program program(request);
        const nvrtcResult result = program.compile(options);
        CompileResult compiled;
        compiled.log = program.log();
        compiled.ok = result == NVRTC_SUCCESS;
        if (!compiled.ok && result != NVRTC_ERROR_COMPILATION) {
            throw Error(ErrorKind::compile, fmt::format("{} cannot compile {} for {}: {}{}{}", version(), request.name,
                                                        request.architecture, calls().error_string(result),
                                                        compiled.log.empty() ? "" : ": ", compiled.log));
        }
        if (compiled.ok) {
            const bool is_virtual = request.architecture.rfind("compute_", 0) == 0;
            compiled.code.code = is_virtual ? program.ptx() : program.cubin();
        }
        compiled.milliseconds =
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
        return compiled;
    }
};

}  // namespace

NvrtcStatus nvrtc_status() {
    NvrtcStatus status;
    status.available = calls().reason.empty();
    status.version = calls().version_text;
    status.path = calls().path;
    status.reason = calls().reason;
    return status;
}

std::unique_ptr<Compiler> make_nvrtc_compiler() {
    if (!calls().reason.empty()) throw Error(ErrorKind::unavailable, calls().reason);
    return std::make_unique<NvrtcCompiler>();
}

}  // namespace tconv
