#pragma once

#include <vector>

#include <tconv/core/problem.hpp>

struct HostTensors {
    std::vector<float> input, weight, bias;
};

/// Values between -1 and 1, the same on every run.
HostTensors random_tensors(const tconv::Problem& problem);

/// max |output - reference| / (|reference| + S) with S = sqrt(sum x^2 w^2 + bias^2), the reference being a plain loop
/// that scatters every input. NaN when an output is NaN.
double largest_error(const tconv::Problem& problem, const HostTensors& host, const std::vector<float>& output);
