#include "check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

namespace {

struct Sums {
    double value = 0;
    double squares = 0;

    void add(double term) {
        value += term;
        squares += term * term;
    }
};

std::vector<float> random_values(std::int64_t count, std::mt19937& random) {
    std::uniform_real_distribution<float> values(-1.0F, 1.0F);
    std::vector<float> result(static_cast<std::size_t>(count));
    for (float& value : result)
        value = values(random);
    return result;
}

/// Position of an element on an axis of `size` elements: -1 outside.
std::int64_t target(const tconv::Problem& p, std::size_t axis, std::int64_t i, std::int64_t k, std::int64_t size) {
    const std::int64_t o = i * p.stride[axis] - p.padding[axis] + k * p.dilation[axis];
    return o >= 0 && o < size ? o : -1;
}

/// Place of an element of the input or the output, whose channels have `volume` positions.
std::size_t offset(const tconv::Problem& p, std::int64_t channels, std::int64_t volume, std::int64_t n,
                   std::int64_t channel, std::int64_t position) {
    const std::int64_t within =
        p.layout == tconv::Layout::nchw ? channel * volume + position : position * channels + channel;
    return static_cast<std::size_t>(n * channels * volume + within);
}

/// All products of one input element, of channel `ci` of batch entry `n`, with the filter to the group's output channel
/// `co`.
void scatter_element(const tconv::Problem& p, const HostTensors& host, const tconv::Extents& size,
                     const tconv::Extents& i, std::int64_t n, std::int64_t ci, std::int64_t co,
                     std::vector<Sums>& sums) {
    const std::int64_t channel = ci / (p.in_channels / p.groups) * (p.out_channels / p.groups) + co;
    const std::int64_t position = (i[0] * p.input[1] + i[1]) * p.input[2] + i[2];
    const double x = host.input[offset(p, p.in_channels, p.input[0] * p.input[1] * p.input[2], n, ci, position)];
    for (std::int64_t kd = 0; kd < p.kernel[0]; ++kd) {
        const std::int64_t od = target(p, 0, i[0], kd, size[0]);
        for (std::int64_t kh = 0; kh < p.kernel[1] && od >= 0; ++kh) {
            const std::int64_t oh = target(p, 1, i[1], kh, size[1]);
            for (std::int64_t kw = 0; kw < p.kernel[2] && oh >= 0; ++kw) {
                const std::int64_t ow = target(p, 2, i[2], kw, size[2]);
                if (ow < 0) continue;
                const std::int64_t tap = (kd * p.kernel[1] + kh) * p.kernel[2] + kw;
                const double w = host.weight[static_cast<std::size_t>(weight_offset(p, ci, co, tap))];
                sums[offset(p, p.out_channels, size[0] * size[1] * size[2], n, channel,
                            (od * size[1] + oh) * size[2] + ow)]
                    .add(x * w);
            }
        }
    }
}

std::vector<Sums> scatter(const tconv::Problem& p, const HostTensors& host) {
    const tconv::Extents size = output_extents(p);
    std::vector<Sums> sums(static_cast<std::size_t>(output_elements(p)));
    for (std::int64_t n = 0; n < p.batch; ++n) {
        for (std::int64_t ci = 0; ci < p.in_channels; ++ci) {
            tconv::Extents i{};
            for (i[0] = 0; i[0] < p.input[0]; ++i[0]) {
                for (i[1] = 0; i[1] < p.input[1]; ++i[1]) {
                    for (i[2] = 0; i[2] < p.input[2]; ++i[2]) {
                        for (std::int64_t co = 0; co < p.out_channels / p.groups; ++co)
                            scatter_element(p, host, size, i, n, ci, co, sums);
                    }
                }
            }
        }
    }
    const std::int64_t run = p.layout == tconv::Layout::nchw ? size[0] * size[1] * size[2] : 1;  // of a channel
    for (std::size_t o = 0; p.bias && o < sums.size(); ++o) {
        const auto channel = static_cast<std::int64_t>(o) / run % p.out_channels;
        sums[o].add(host.bias[static_cast<std::size_t>(channel)]);
    }
    return sums;
}

}  // namespace

HostTensors random_tensors(const tconv::Problem& problem) {
    std::mt19937 random(1);
    return {random_values(input_elements(problem), random), random_values(weight_elements(problem), random),
            random_values(bias_elements(problem), random)};
}

double largest_error(const tconv::Problem& problem, const HostTensors& host, const std::vector<float>& output) {
    const std::vector<Sums> reference = scatter(problem, host);
    double largest = 0;
    for (std::size_t o = 0; o < reference.size(); ++o) {
        const double scale = std::abs(reference[o].value) + std::sqrt(reference[o].squares);
        const double deviation = std::abs(output[o] - reference[o].value);
        if (std::isnan(deviation)) return deviation;
        if (deviation > 0) largest = std::max(largest, deviation / scale);
    }
    return largest;
}
