#pragma once

#include "cache/database.hpp"
#include "core/arithmetic.hpp"
#include "core/problem.hpp"
#include "device/device.hpp"
#include "tuner/builder.hpp"
#include "tuner/timer.hpp"

namespace tconv {

/// Measures what the device can do: a large copy (bytes read plus written), multiply-adds in each arithmetic, an empty
/// launch. Takes about two seconds of a GPU. Throws Error(compile) and Error(device).
[[nodiscard]] Ceilings measure_ceilings(Device& device, Builder& builder, Timer& timer);

/// The fastest arithmetic that results of this accuracy allow. For f32 tensors: TF32 from a tolerance of 1e-3 on, below
/// it split bf16, whose error is about 1e-5. Strict: fp32.
[[nodiscard]] Arithmetic fastest_arithmetic(DataType dtype, double tolerance, bool strict);

/// Operations a second in `arithmetic`; 0 where it was not measured. For split bf16: a third of the bf16 rate, else of
/// the TF32 rate (three products again), else the fp32 rate.
[[nodiscard]] double arithmetic_rate(const Ceilings& ceilings, Arithmetic arithmetic);

/// The least time of a problem in milliseconds: max(bytes / copy bandwidth, flops / rate of `arithmetic`), not below an
/// empty launch. A rate that was not measured bounds nothing.
[[nodiscard]] double limit_milliseconds(const Problem& problem, const Ceilings& ceilings, Arithmetic arithmetic);

}  // namespace tconv
