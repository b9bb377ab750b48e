#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tconv::emulator {

/// Threads that help the calling one. They start when first needed and end with the pool.
class WorkerPool {
public:
    WorkerPool() = default;
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;
    ~WorkerPool();

    /// Runs work(0) here and work(1) … work(count - 1) on other threads; returns when all have returned. `work` must
    /// not throw.
    void run(int count, const std::function<void(int worker)>& work);

private:
    void serve(int worker);

    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable done_;
    std::vector<std::thread> threads_;
    const std::function<void(int)>* work_ = nullptr;
    unsigned long long round_ = 0;
    int wanted_ = 0;   // workers of this round
    int running_ = 0;  // helpers of this round that have not returned
    bool ending_ = false;
};

}  // namespace tconv::emulator
