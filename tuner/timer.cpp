#include "tuner/timer.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
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

constexpr std::size_t k_telling_samples = 3;
constexpr double k_standard_errors = 3;
constexpr int k_settled_rounds = 9;  // a median of fewer would not be met again by another session
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

double relative_error_of_median(const Timing& timing) {
    if (timing.samples.empty()) return 0;
    return 1.2533 / 0.6745 * timing.spread / std::sqrt(static_cast<double>(timing.samples.size()));
}

bool apart(const Timing& a, const Timing& b) {
    if (a.samples.size() < k_telling_samples || b.samples.size() < k_telling_samples) return false;
    const double chance =
        k_standard_errors * std::hypot(a.median * relative_error_of_median(a), b.median * relative_error_of_median(b));
    return std::abs(a.median - b.median) > chance;
}

Timer::Timer(Device& device, const TimerSettings& settings) : device_(device), settings_(settings) {
    if (device.info().kind == DeviceKind::emulator) return;
    flush_bytes_ = std::min(std::max(k_least_flush, static_cast<std::size_t>(4 * device.info().l2_bytes)),
                            device.memory_limit() / 8);
    flush_.emplace(device, flush_bytes_);
}

void Timer::flush() {
    if (flush_) device_.fill(flush_->address(), 0, flush_bytes_);
}

std::vector<double> Timer::sample(int count, const std::function<void()>& work) {
    return device_.time(
        count, [this] { flush(); }, work);
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

std::vector<Timing> Timer::interleave_until_apart(const std::vector<std::function<void()>>& works, int most_rounds,
                                                  double seconds) {
    using Clock = std::chrono::steady_clock;
    constexpr int rounds_between_looks = 3;
    const Clock::time_point end =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    std::vector<std::vector<double>> samples(works.size());
    std::vector<Timing> timings;
    for (int round = 0; round < most_rounds && (round < rounds_between_looks || Clock::now() < end);
         round += rounds_between_looks) {
        const std::vector<Timing> more = interleave(works, std::min(rounds_between_looks, most_rounds - round));
        timings.clear();
        for (std::size_t i = 0; i < works.size(); ++i) {
            samples[i].insert(samples[i].end(), more[i].samples.begin(), more[i].samples.end());
            timings.push_back(summarise(samples[i]));
        }
        const auto best = std::min_element(timings.begin(), timings.end(), ranks_before);
        const bool known = std::all_of(timings.begin(), timings.end(),
                                       [&](const Timing& other) { return &other == &*best || apart(other, *best); });
        if (known && round + rounds_between_looks >= k_settled_rounds) break;
    }
    return timings;
}

std::vector<Timing> Timer::interleave(const std::vector<std::function<void()>>& works, int rounds) {
    std::vector<std::vector<double>> samples(works.size());
    std::size_t next = 0;
    const auto before = [&] {
        if (flush_) works[next % works.size()]();  // the emulator has no caches
        flush();
    };
    const auto work = [&] { works[next++ % works.size()](); };
    const std::vector<double> all = device_.time(rounds * static_cast<int>(works.size()), before, work);
    for (std::size_t i = 0; i < all.size(); ++i)
        samples[i % works.size()].push_back(all[i]);
    std::vector<Timing> timings;
    timings.reserve(works.size());
    for (auto& list : samples)
        timings.push_back(summarise(std::move(list)));
    return timings;
}

}  // namespace tconv
