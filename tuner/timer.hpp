#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/outcome.hpp"
#include "device/memory.hpp"

namespace tconv {

/// Median, minimum and spread (half the interquartile range over the median) of raw samples in milliseconds.
[[nodiscard]] Timing summarise(std::vector<double> samples);

/// One standard error of the median, relative to it: of normal samples, whose half interquartile range is 0.6745
/// deviations and whose median of n has a standard error of 1.2533 / sqrt(n) deviations.
[[nodiscard]] double relative_error_of_median(const Timing& timing);

/// Whether two medians differ by more than chance: by more than three standard errors of their difference. Two samples
/// a side say nothing yet.
[[nodiscard]] bool apart(const Timing& a, const Timing& b);

struct TimerSettings {
    int batch = 5;  ///< samples taken between looks at the spread
    int max_samples = 30;
    double good_spread = 0.01;  ///< enough once the spread is below
    double max_seconds = 0.5;   ///< of device time, a candidate
    double drop_factor = 1.4;   ///< slower than the best by this factor in its first sample: not worth another
};

/// Times launches with the L2 flushed before every sample.
class Timer {
public:
    /// Allocates the flush buffer: 256 MB or four times the L2, whichever is larger, where the device's memory holds
    /// it; none on the emulator.
    explicit Timer(Device& device, const TimerSettings& settings = {});

    /// Samples `work` until the spread is small. With `best` > 0, a first sample above best x drop_factor ends it at
    /// once.
    [[nodiscard]] Timing time(const std::function<void()>& work, double best_milliseconds);

    /// Times several works in turn (A B C A B C ...), `rounds` samples each, so that a drift of the clocks meets all
    /// alike. Before each sample the work runs once untimed: else its instructions, which the others' replaced in the
    /// multiprocessors' caches, would be fetched anew.
    [[nodiscard]] std::vector<Timing> interleave(const std::vector<std::function<void()>>& works, int rounds);

    /// The same for at most `most_rounds` rounds and, from the third one on, `seconds`; ends as soon as the fastest is
    /// known: the others' medians lie above its own by more than chance (see `apart`).
    [[nodiscard]] std::vector<Timing> interleave_until_apart(const std::vector<std::function<void()>>& works,
                                                             int most_rounds, double seconds);

private:
    void flush();
    [[nodiscard]] std::vector<double> sample(int count, const std::function<void()>& work);

    Device& device_;
    TimerSettings settings_;
    std::optional<DeviceMemory> flush_;
    std::size_t flush_bytes_ = 0;
};

}  // namespace tconv
