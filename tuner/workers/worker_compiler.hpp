#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/compiler.hpp"
#include "tuner/workers/worker.hpp"

namespace tconv {

/// Compiles in processes of their own, as many as there are threads asking at once: a compiler that aborts or never
/// ends costs its request alone.
class WorkerCompiler final : public Compiler {
public:
    /// `command` starts a worker that compiles. Throws Error(unavailable).
    WorkerCompiler(std::vector<std::string> command, const WorkerLimits& limits);

    [[nodiscard]] std::string version() const override { return version_; }
    /// Throws Error(unavailable) when no worker starts any more.
    [[nodiscard]] CompileResult compile(const CompileRequest& request) override;

private:
    [[nodiscard]] std::unique_ptr<Worker> borrow();
    void give_back(std::unique_ptr<Worker> worker);

    std::vector<std::string> command_;
    WorkerLimits limits_;
    std::string version_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Worker>> idle_;
};

}  // namespace tconv
