#include "tuner/proposer.hpp"

#include <algorithm>
#include <utility>

namespace tconv {

Proposer::Proposer(Contest& contest, CompilePool& pool, std::int64_t most, std::int64_t ahead)
    : contest_(contest), pool_(pool), left_(most), allowed_(ahead), thread_([this](const std::stop_token& stop) {
          try {
              work(stop);
          } catch (...) {
              const std::lock_guard lock(mutex_);
              failure_ = std::current_exception();
              busy_ = false;
          }
      }) {}

Proposer::~Proposer() = default;

void Proposer::report(const std::string& family, const Config& config, std::optional<double> milliseconds) {
    {
        const std::lock_guard lock(mutex_);
        reports_.push_back({family, config, milliseconds});
    }
    reported_.notify_one();
}

bool Proposer::is_idle() {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return !busy_ && reports_.empty();
}

void Proposer::work(const std::stop_token& stop) {
    for (;;) {
        propose_all_but_stopped(stop);
        std::unique_lock lock(mutex_);
        busy_ = false;
        if (!reported_.wait(lock, stop, [this] { return !reports_.empty(); })) return;
        busy_ = true;
        const Report report = std::move(reports_.front());
        reports_.pop_front();
        lock.unlock();
        contest_.report(report.family, report.config, report.milliseconds);
        ++allowed_;
    }
}

void Proposer::propose_all_but_stopped(const std::stop_token& stop) {
    for (; allowed_ > 0 && left_ > 0 && !stop.stop_requested(); --allowed_, --left_) {
        auto candidate = contest_.next();
        if (!candidate) return;
        pool_.submit(std::move(*candidate));
    }
}

}  // namespace tconv
