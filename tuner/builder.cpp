#include "tuner/builder.hpp"

#include <fmt/format.h>

#include "cache/paths.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "device/nvrtc/nvrtc.hpp"
#include "kernel_sources/sources.hpp"

namespace tconv {
namespace {

constexpr const char* k_extension = "cubin";

std::string content_key(const Compiler& compiler, const CompileRequest& request) {
    std::string text = compiler.version() + '\n' + request.architecture + '\n';
    for (const std::string& option : request.options)
        text += option + '\n';
    return content_hash(text + request.source);
}

}  // namespace

Builder::Builder(Compiler& compiler, const DeviceInfo& device) : compiler_(compiler), device_(device) {
    if (device_.kind != DeviceKind::cuda) return;  // the emulator's compiler keeps its own objects
    try {
        store_.emplace(code_directory());
    } catch (const Error& error) {
        warning_ = fmt::format("compiled code is not kept: {}", error.what());
    }
}

CompileRequest Builder::request_for(const Candidate& candidate) const {
    CompileRequest request;
    request.name = candidate.plan.source_file;
    request.source = specialise(candidate.plan, candidate.problem, candidate.config);
    request.kernels = kernel_names(candidate.plan);
    request.architecture = architecture_of(device_);
    if (device_.kind == DeviceKind::cuda) request.options = compiler_options(candidate.config);
    return request;
}

CompileResult Builder::build(const Candidate& candidate) {
    const CompileRequest request = request_for(candidate);
    return build_once(request, content_hash(request.source)).get();
}

CompileResult Builder::take(const Candidate& candidate) {
    const CompileRequest request = request_for(candidate);
    const std::string key = content_hash(request.source);
    const std::shared_future<CompileResult> result = build_once(request, key);
    result.wait();
    {
        const std::lock_guard lock(mutex_);
        results_.erase(key);
    }
    return result.get();
}

std::shared_future<CompileResult> Builder::build_once(const CompileRequest& request, const std::string& key) {
    std::promise<CompileResult> promise;
    std::shared_future<CompileResult> result;
    bool mine = false;
    {
        const std::lock_guard lock(mutex_);
        auto [entry, added] = results_.try_emplace(key);
        if (added) entry->second = promise.get_future().share();
        result = entry->second;
        mine = added;
    }
    if (mine) {
        try {
            promise.set_value(compile_or_recall(request));
        } catch (const std::exception& error) {
            const auto* ours = dynamic_cast<const Error*>(&error);
            if (ours != nullptr && ours->kind() == ErrorKind::unavailable) {
                promise.set_exception(std::current_exception());
                return result;
            }
            CompileResult failed;
            failed.log = error.what();
            promise.set_value(std::move(failed));
        }
    }
    return result;
}

CompileResult Builder::build_file(const std::string& file, const std::vector<std::string>& kernels) {
    CompileRequest request;
    request.name = file;
    request.source = expand_includes(file);
    request.kernels = kernels;
    request.architecture = architecture_of(device_);
    return compile_or_recall(request);
}

CompileResult Builder::compile_or_recall(const CompileRequest& request) {
    if (!store_) return compiler_.compile(request);
    const std::string key = content_key(compiler_, request);
    if (auto code = store_->get(key, k_extension)) {
        CompileResult result;
        result.ok = true;
        result.code.code = std::move(*code);
        return result;
    }
    CompileResult result = compiler_.compile(request);
    if (!result.ok) return result;
    try {
        store_->put(key, k_extension, result.code.code);
    } catch (const Error&) {
        // A full disk costs the reuse of this binary, not the candidate.
    }
    return result;
}

}  // namespace tconv
