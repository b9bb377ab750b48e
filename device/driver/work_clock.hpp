#pragma once

#include <cuda.h>

namespace tconv::cuda {

/// How long the device has been at what was enqueued on the default stream: from the first thing enqueued after a wait
/// of the host to the end of what the host waits for next. The moments in which the host prepares further launches
/// meanwhile count. What cannot be had is left out, and nothing is thrown. All calls are made with the context current.
class WorkClock {
public:
    WorkClock() = default;
    WorkClock(const WorkClock&) = delete;
    WorkClock& operator=(const WorkClock&) = delete;
    ~WorkClock();

    /// Something will be enqueued.
    void begin() noexcept;
    /// All that counts is enqueued, and the host will wait for it; `last`, where given, is an event behind it.
    void mark_end(CUevent last = nullptr) noexcept;
    /// The host has waited.
    void count() noexcept;

    [[nodiscard]] double seconds() const { return seconds_; }

private:
    CUevent start_ = nullptr;
    CUevent end_ = nullptr;
    CUevent until_ = nullptr;  // null: nothing to wait for is marked
    bool open_ = false;
    double seconds_ = 0;
};

}  // namespace tconv::cuda
