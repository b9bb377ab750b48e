#include "tuner/timer.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace tconv {
namespace {

/// Value at share `q` of a sorted list, between the two nearest samples.
double quantile(const std::vector<double>& sorted, double q) {
    const double place = q * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

constexpr std::size_t k_least_flush = std::size_t{256} << 20;

}  // namespace

Timing summarise(std::vector<double> samples) {
    assert(!samples.empty());
    std::vector<double> sorted = samples;
    std::sort(sorted.begin(), sorted.end());
    Timing timing;
    timing.samples = std::move(samples);
    timing.median = quantile(sorted, 0.5);
    timing.minimum = sorted.front();
    if (timing.median > 0) timing.spread = (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / 2 / timing.median;
    return timing;
}

Timer::Timer(Device& device, const TimerSettings& settings) : device_(device), settings_(settings) {
    if (device.info().kind == DeviceKind::emulator) return;
    flush_bytes_ = std::min(std::max(k_least_flush, static_cast<std::size_t>(4 * device.info().l2_bytes)),
                            static_cast<std::size_t>(device.info().memory_bytes / 8));
    flush_.emplace(device, flush_bytes_);
}

std::vector<double> Timer::sample(int count, const std::function<void()>& work) {
    const auto flush = [this] {
        if (flush_) device_.fill(flush_->address(), 0, flush_bytes_);
    };
    return device_.time(count, flush, work);
}

Timing Timer::time(const std::function<void()>& work, double best_milliseconds) {
    std::vector<double> samples = sample(1, work);
    if (best_milliseconds > 0 && samples.front() > best_milliseconds * settings_.drop_factor) {
        Timing timing = summarise(std::move(samples));
        timing.dropped_early = true;
        return timing;
    }
    const double seconds_each = samples.front() / 1000;
    const int affordable = static_cast<int>(std::clamp(settings_.max_seconds / std::max(seconds_each, 1e-9), 3.0, 1e6));
    const int limit = std::min(settings_.max_samples, affordable);
    // The first sample also warmed things up: it decides about dropping, but not about the median.
    samples.clear();
    while (static_cast<int>(samples.size()) < limit) {
        const int count = std::min(settings_.batch, limit - static_cast<int>(samples.size()));
        for (const double value : sample(count, work))
            samples.push_back(value);
        if (static_cast<int>(samples.size()) > settings_.batch && summarise(samples).spread < settings_.good_spread)
            break;
    }
    return summarise(std::move(samples));
}

std::vector<Timing> Timer::interleave(const std::vector<std::function<void()>>& works, int rounds) {
    std::vector<std::vector<double>> samples(works.size());
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < works.size(); ++i)
            samples[i].push_back(sample(1, works[i]).front());
    }
    std::vector<Timing> timings;
    timings.reserve(works.size());
    for (auto& list : samples)
        timings.push_back(summarise(std::move(list)));
    return timings;
}

}  // namespace tconv
