#include "tuner/compile_pool.hpp"

#include <algorithm>
#include <chrono>

#include "core/error.hpp"

namespace tconv {

CompilePool::CompilePool(Builder& builder, int threads) : builder_(builder) {
    const int count = threads > 0 ? threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    for (int i = 0; i < count; ++i) {
        threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
    }
}

CompilePool::~CompilePool() {
    for (std::jthread& thread : threads_)
        thread.request_stop();
    threads_.clear();
}

void CompilePool::submit(Candidate candidate) {
    {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(candidate));
        ++outstanding_;
    }
    submitted_.notify_one();
}

std::optional<Candidate> CompilePool::take(double seconds) {
    std::unique_lock lock(mutex_);
    if (!finished_signal_.wait_for(lock, std::chrono::duration<double>(seconds),
                                   [this] { return !finished_.empty(); })) {
        return std::nullopt;
    }
    Candidate candidate = std::move(finished_.front());
    finished_.pop_front();
    --outstanding_;
    return candidate;
}

std::size_t CompilePool::outstanding() const {
    const std::lock_guard lock(mutex_);
    return outstanding_;
}

void CompilePool::work(const std::stop_token& stop) {
    for (;;) {
        std::unique_lock lock(mutex_);
        if (!submitted_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
        if (stop.stop_requested()) return;
        Candidate candidate = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        try {
            (void)builder_.build(candidate);
        } catch (const Error&) {
            // The builder says it again to the one who takes the result.
        }
        lock.lock();
        finished_.push_back(std::move(candidate));
        lock.unlock();
        finished_signal_.notify_one();
    }
}

}  // namespace tconv
