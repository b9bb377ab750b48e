#pragma once

#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "cache/code_store.hpp"
#include "core/device_info.hpp"
#include "device/compiler.hpp"
#include "tuner/candidate.hpp"

namespace tconv {

/// Source to machine code for one device, each text compiled once: results are remembered for the life of the object,
/// and machine code for CUDA devices is kept by content (compiler, options, source) in the user's cache folder.
/// Thread-safe.
class Builder {
public:
    /// `compiler` outlives the object. Without a usable cache folder code is kept in memory alone; `warning` then says
    /// why.
    Builder(Compiler& compiler, const DeviceInfo& device);

    /// Compiles the candidate's specialised source, waiting where another thread is at it. A compiler that cannot run
    /// is a failed result; Error(unavailable) where it is none of the candidate's doing.
    [[nodiscard]] CompileResult build(const Candidate& candidate);

    /// Compiles a template as it stands, without prelude: reference.cu, support.cu.
    [[nodiscard]] CompileResult build_file(const std::string& file, const std::vector<std::string>& kernels);

    /// The same for the last one that needs the result: it is forgotten.
    [[nodiscard]] CompileResult take(const Candidate& candidate);

    [[nodiscard]] const std::string& warning() const { return warning_; }
    [[nodiscard]] std::string compiler_version() const { return compiler_.version(); }

private:
    [[nodiscard]] std::shared_future<CompileResult> build_once(const CompileRequest& request, const std::string& key);
    [[nodiscard]] CompileResult compile_or_recall(const CompileRequest& request);
    [[nodiscard]] CompileRequest request_for(const Candidate& candidate) const;

    Compiler& compiler_;
    DeviceInfo device_;
    std::optional<CodeStore> store_;
    std::string warning_;
    std::mutex mutex_;
    std::map<std::string, std::shared_future<CompileResult>> results_;  // by hash of the source
};

}  // namespace tconv
