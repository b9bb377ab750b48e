#include "device/driver/work_clock.hpp"

#include "device/driver/context.hpp"

namespace tconv::cuda {
namespace {

bool record(CUevent& event) {
    if (event == nullptr && calls().event_create(&event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
        event = nullptr;
        return false;
    }
    return calls().event_record(event, nullptr) == CUDA_SUCCESS;
}

}  // namespace

WorkClock::~WorkClock() {
    for (CUevent event : {start_, end_}) {
        if (event != nullptr) calls().event_destroy(event);
    }
}

void WorkClock::begin() noexcept {
    if (!open_) open_ = record(start_);
}

void WorkClock::mark_end(CUevent last) noexcept {
    if (!open_) return;
    until_ = last != nullptr ? last : record(end_) ? end_ : nullptr;
    if (until_ == nullptr) open_ = false;
}

void WorkClock::count() noexcept {
    if (!open_ || until_ == nullptr) return;
    float milliseconds = 0;
    if (calls().event_elapsed(&milliseconds, start_, until_) == CUDA_SUCCESS) seconds_ += milliseconds / 1000.0;
    open_ = false;
    until_ = nullptr;
}

}  // namespace tconv::cuda
