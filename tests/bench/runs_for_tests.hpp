#pragma once

#include <string>
#include <vector>

#include "bench/run.hpp"
#include "tuner/timer.hpp"

namespace tconv::test {

inline Problem bench_problem() {
    Problem problem;
    problem.spatial_axes = 1;
    problem.batch = 2;
    problem.in_channels = 3;
    problem.out_channels = 5;
    problem.input = {1, 1, 17};
    problem.kernel = {1, 1, 4};
    problem.stride = {1, 1, 2};
    return problem;
}

inline Contestant contestant(const std::vector<double>& samples) {
    Contestant side;
    side.description = "direct";
    side.timing = summarise(samples);
    side.error = 1.25e-6;
    return side;
}

/// One layer measured in fp32: tconv and the peer with these samples, in milliseconds; empty: not measured.
inline BenchResult bench_result(const std::string& layer, const std::vector<double>& ours,
                                const std::vector<double>& peer) {
    BenchResult result;
    result.layer = layer;
    result.group = "small";
    result.problem = bench_problem();
    // So that layers differ as problems do.
    for (const char letter : layer)
        result.problem.input[2] += letter;
    result.tolerance = 1e-4;
    result.limit_milliseconds = 0.5;
    if (!ours.empty()) result.ours = contestant(ours);
    if (!peer.empty()) result.peer = contestant(peer);
    return result;
}

inline BenchRun bench_run(const std::vector<BenchResult>& results) {
    BenchRun run;
    run.tconv_version = "1.2.3";
    run.started = "2026-01-02T03:04:05Z";
    run.command = "tconv bench";
    run.device_key = "NVIDIA test, cc 9.0, 132 multiprocessors";
    run.device_name = "NVIDIA test";
    run.driver_version = "13.0";
    run.driver_package = "580.1";
    run.compiler_version = "NVRTC 13.0";
    run.peer_version = "9.19.0";
    run.peer_path = "/somewhere/libcudnn.so.9";
    run.ceilings = {4e12, 6.5e13, 0.0035, 4.5e14, 9e14};
    run.results = results;
    return run;
}

}  // namespace tconv::test
