#include "tuner/workers/worker_compiler.hpp"

#include <utility>

#include "core/error.hpp"
#include "tuner/workers/codec.hpp"
#include "tuner/workers/messages.hpp"

namespace tconv {

WorkerCompiler::WorkerCompiler(std::vector<std::string> command, const WorkerLimits& limits)
    : command_(std::move(command)), limits_(limits) {
    idle_.push_back(std::make_unique<Worker>(command_, limits_));
    version_ = idle_.front()->greeting().value(messages::k_compiler, "");
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
    return std::make_unique<Worker>(command_, limits_);
}

CompileResult WorkerCompiler::compile(const CompileRequest& request) {
    std::unique_ptr<Worker> worker = borrow();
    const Answer answer = worker->ask({{messages::k_do, messages::k_compile}, {messages::k_what, to_message(request)}},
                                      limits_.compile_seconds);
    if (const auto* failure = std::get_if<WorkerFailure>(&answer)) {
        CompileResult result;
        result.log = failure->reason;
        result.failure = failure->kind == OutcomeKind::timeout ? CompileFailure::timed_out : CompileFailure::crashed;
        return result;
    }
    const auto& message = std::get<Message>(answer);
    {
        const std::lock_guard lock(mutex_);
        idle_.push_back(std::move(worker));
    }
    if (message.contains(messages::k_error))
        throw Error(ErrorKind::compile, message.at(messages::k_error).get<std::string>());
    return compile_result_from(message.at(messages::k_done));
}

}  // namespace tconv
