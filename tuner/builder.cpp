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
    Config values = candidate.config;
    values.insert(candidate.plan.constants.begin(), candidate.plan.constants.end());
    CompileRequest request;
    request.name = candidate.plan.source_file;
    request.source = specialise(candidate.plan.source_file, candidate.problem, values);
    for (const Launch& launch : candidate.plan.launches)
        request.kernels.push_back(launch.kernel);
    request.architecture = architecture_of(device_);
    return request;
}

CompileResult Builder::build(const Candidate& candidate) {
    const CompileRequest request = request_for(candidate);
    const std::string key = content_hash(request.source);
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
            CompileResult failed;
            failed.log = error.what();
            promise.set_value(std::move(failed));
        }
    }
    return result.get();
}

CompileResult Builder::build_file(const std::string& file, const std::vector<std::string>& kernels) {
    CompileRequest request;
    request.name = file;
    request.source = expand_includes(file);
    request.kernels = kernels;
    request.architecture = architecture_of(device_);
    return compile_or_recall(request);
}

void Builder::forget(const Candidate& candidate) {
    const std::string key = content_hash(request_for(candidate).source);
    const std::lock_guard lock(mutex_);
    results_.erase(key);
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
