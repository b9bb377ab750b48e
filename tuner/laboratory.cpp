#include "tuner/laboratory.hpp"

#include "tuner/ceilings.hpp"

namespace tconv {

Laboratory::Laboratory(Device& device, Compiler& compiler) : device_(device), builder_(compiler, device.info()) {}

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

}  // namespace tconv
