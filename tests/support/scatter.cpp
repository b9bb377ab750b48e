#include "tests/support/scatter.hpp"

namespace tconv::test {
namespace {

/// Turns `count` matrices that lie behind each other: channels of positions become positions of channels, and back.
std::vector<double> turned(const std::vector<double>& values, std::int64_t count, std::int64_t rows,
                           std::int64_t columns) {
    std::vector<double> result(values.size());
    const double* from = values.data();
    double* to = result.data();
    for (std::int64_t item = 0; item < count; ++item, from += rows * columns, to += rows * columns) {
        for (std::int64_t row = 0; row < rows; ++row) {
            for (std::int64_t column = 0; column < columns; ++column)
                to[column * rows + row] = from[row * columns + column];
        }
    }
    return result;
}

std::int64_t volume_of(const Extents& size) {
    return size[0] * size[1] * size[2];
}

/// What one tap brings from one input position to one output position; all of one position's channels lie together, and
/// each input channel's weights of the tap, `next_channel` behind those of the one before.
void add_tap(const Problem& p, const double* input, const double* weight, std::int64_t next_channel, double* output) {
    const std::int64_t out_group = p.out_channels / p.groups;
    const std::int64_t in_group = p.in_channels / p.groups;
    for (std::int64_t ci = 0; ci < p.in_channels; ++ci, weight += next_channel) {
        const double x = input[ci];
        double* sums = output + ci / in_group * out_group;
        for (std::int64_t j = 0; j < out_group; ++j)
            sums[j] += x * weight[j];
    }
}

}  // namespace

std::vector<double> scatter(const Problem& p, const Extents& output_size, const std::vector<double>& input,
                            const std::vector<double>& weight, const std::vector<double>& bias) {
    const bool channels_first = p.layout == Layout::nchw;
    const std::int64_t out_group = p.out_channels / p.groups;
    const std::int64_t taps = volume_of(p.kernel);
    const std::int64_t volume = volume_of(output_size);
    const std::vector<double> x = channels_first ? turned(input, p.batch, p.in_channels, volume_of(p.input)) : input;
    const std::vector<double> w = channels_first ? turned(weight, p.in_channels, out_group, taps) : weight;
    std::vector<double> output(static_cast<std::size_t>(p.batch * p.out_channels * volume), 0.0);
    if (!bias.empty()) {
        for (std::size_t i = 0; i < output.size(); ++i)
            output[i] = bias[i % bias.size()];
    }
    const auto axis = [&](std::size_t a, auto&& visit) {
        scatter_axis(p.input[a], p.kernel[a], p.stride[a], p.padding[a], p.dilation[a], output_size[a], visit);
    };
    for (std::int64_t n = 0; n < p.batch; ++n) {
        axis(0, [&](std::int64_t id, std::int64_t kd, std::int64_t od) {
            axis(1, [&](std::int64_t ih, std::int64_t kh, std::int64_t oh) {
                axis(2, [&](std::int64_t iw, std::int64_t kw, std::int64_t ow) {
                    add_tap(p, &x[tensor_index(Layout::nhwc, p.in_channels, p.input, n, 0, id, ih, iw)],
                            &w[tensor_index(Layout::nhwc, out_group, p.kernel, 0, 0, kd, kh, kw)], taps * out_group,
                            &output[tensor_index(Layout::nhwc, p.out_channels, output_size, n, 0, od, oh, ow)]);
                });
            });
        });
    }
    return channels_first ? turned(output, p.batch, volume, p.out_channels) : output;
}

}  // namespace tconv::test
