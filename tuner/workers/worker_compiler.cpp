#include "tuner/workers/worker_compiler.hpp"

#include <utility>

#include "core/error.hpp"
#include "tuner/workers/codec.hpp"
#include "tuner/workers/messages.hpp"

namespace tconv {
namespace {

CompileResult failed(CompileFailure failure, const std::string& reason) {
    CompileResult result;
    result.failure = failure;
    result.log = reason;
    return result;
}

}  // namespace

WorkerCompiler::WorkerCompiler(std::vector<std::string> command, const WorkerLimits& limits)
    : command_(std::move(command)), limits_(limits) {
    idle_.push_back(std::make_unique<Worker>(command_, limits_));
    const Message& greeting = idle_.front()->greeting();
    const auto version = greeting.find(messages::k_compiler);
    if (version == greeting.end() || !version->is_string())
        throw Error(ErrorKind::unavailable, "a worker that should compile does not name its compiler");
    version_ = version->get<std::string>();
}

std::unique_ptr<Worker> WorkerCompiler::borrow() {
    {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
            std::unique_ptr<Worker> worker = std::move(idle_.back());
            idle_.pop_back();
            return worker;
        }
    }
    return restart_worker([this] { return std::make_unique<Worker>(command_, limits_); });
}

void WorkerCompiler::give_back(std::unique_ptr<Worker> worker) {
    if (worker->has_grown()) return;
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(worker));
}

CompileResult WorkerCompiler::compile(const CompileRequest& request) {
    std::unique_ptr<Worker> worker = borrow();
    const Answer answer = worker->ask({{messages::k_do, messages::k_compile}, {messages::k_what, to_message(request)}},
                                      limits_.compile_seconds);
    if (const auto* failure = std::get_if<WorkerFailure>(&answer)) {
        return failed(failure->kind == OutcomeKind::timeout ? CompileFailure::timed_out : CompileFailure::crashed,
                      failure->reason);
    }
    const auto& message = std::get<Message>(answer);
    if (message.contains(messages::k_error)) {
        give_back(std::move(worker));
        throw Error(ErrorKind::compile, error_of(message));
    }
    try {
        CompileResult result = compile_result_from(message.value(messages::k_done, Message()));
        give_back(std::move(worker));
        return result;
    } catch (const Error& error) {
        // One that answers nonsense is not asked again.
        return failed(CompileFailure::crashed, error.what());
    }
}

}  // namespace tconv
