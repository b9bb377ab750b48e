#include "device/emulator/worker_pool.hpp"

namespace tconv::emulator {

WorkerPool::~WorkerPool() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_)
        thread.join();
}

void WorkerPool::run(int count, const std::function<void(int worker)>& work) {
    if (count > 1) {
        const std::lock_guard lock(mutex_);
        while (static_cast<int>(threads_.size()) + 1 < count) {
            const int worker = static_cast<int>(threads_.size()) + 1;
            threads_.emplace_back([this, worker] { serve(worker); });
        }
        work_ = &work;
        wanted_ = count;
        running_ = count - 1;
        ++round_;
        wake_.notify_all();
    }
    work(0);
    if (count > 1) {
        std::unique_lock lock(mutex_);
        done_.wait(lock, [this] { return running_ == 0; });
    }
}

void WorkerPool::serve(int worker) {
    unsigned long long served = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
        wake_.wait(lock, [&] { return ending_ || (round_ != served && worker < wanted_ && running_ > 0); });
        if (ending_) return;
        served = round_;
        const std::function<void(int)>* work = work_;
        lock.unlock();
        (*work)(worker);
        lock.lock();
        if (--running_ == 0) done_.notify_one();
    }
}

}  // namespace tconv::emulator
