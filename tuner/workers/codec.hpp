#pragma once

#include "core/device_info.hpp"
#include "device/compiler.hpp"
#include "tuner/evaluator.hpp"
#include "tuner/workers/framing.hpp"

namespace tconv {

// The values that cross to a worker and back. Each pair is lossless; numbers that are none (NaN, infinity) survive.
// Reading throws Error(device) where a member is missing or has another type.

[[nodiscard]] Message to_message(const DeviceInfo& device);
[[nodiscard]] DeviceInfo device_info_from(const Message& message);

[[nodiscard]] Message to_message(const CompileRequest& request);
[[nodiscard]] CompileRequest compile_request_from(const Message& message);

[[nodiscard]] Message to_message(const CompileResult& result);
[[nodiscard]] CompileResult compile_result_from(const Message& message);

[[nodiscard]] Message to_message(const Compiled& candidate);
[[nodiscard]] Compiled compiled_from(const Message& message);

[[nodiscard]] Message to_message(const Preparation& preparation);
[[nodiscard]] Preparation preparation_from(const Message& message);

[[nodiscard]] Message to_message(const Measurement& measurement);
[[nodiscard]] Measurement measurement_from(const Message& message);

[[nodiscard]] Message to_message(const Timing& timing);
[[nodiscard]] Timing timing_from(const Message& message);

/// How long a worker's device has been at work, of any answer that holds a result.
[[nodiscard]] double device_seconds_from(const Message& answer);

}  // namespace tconv
