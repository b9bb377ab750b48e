#include "tuner/laboratory.hpp"

#include <fmt/format.h>

#include <utility>

#include "tuner/ceilings.hpp"

namespace tconv {

Laboratory::Laboratory(Device& device, Compiler& compiler, DisturbanceWatch watch)
    : device_(device), builder_(compiler, device.info()), watch_(std::move(watch)) {
    device_.count_work();
    // The emulator's memory is to have exactly the sizes asked for: its sanitizers look beyond the ends.
    if (device_.info().kind == DeviceKind::cuda) device_.keep_released();
}

Laboratory::~Laboratory() = default;

SupportKernels& Laboratory::support() {
    if (!support_) support_ = std::make_unique<SupportKernels>(device_, builder_);
    return *support_;
}

Timer& Laboratory::timer() {
    if (!timer_) timer_ = std::make_unique<Timer>(device_);
    return *timer_;
}

const Ceilings& Laboratory::ceilings() {
    if (!ceilings_) ceilings_ = measure_ceilings(device_, builder_, timer());
    return *ceilings_;
}

std::string Laboratory::disturbance() {
    return watch_ ? fmt::format("{}", fmt::join(watch_(), " and ")) : std::string();
}

}  // namespace tconv
