// What the real library, where it is there, says of our graphs. From version 9.8 on it answers for a device by
// description, so that no device is needed.
#include <cstdio>
#include <cstdlib>
#include <set>

#include "bench/cudnn/peer.hpp"
#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/random_problem.hpp"

using namespace tconv;
using namespace tconv::cudnn;

namespace {

constexpr const char* k_h200 =
    R"({"deviceName":"NVIDIA H200","deviceVer":900,"driverVer":13000,"cudaDeviceId":0,"totalGlobalMem":150000000000,
    "maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,
    "multiProcessorCount":132,"warpSize":32,"maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":232448,
    "reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,
    "maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,"smClockRateKHz":1980000,
    "memClockRateKHz":3201000,"l2CacheSize":62914560})";

[[noreturn]] void skip(const std::string& reason) {
    std::printf("Skipped: %s\n", reason.c_str());
    std::fflush(stdout);
    std::_Exit(77);
}

const Library& real_library() {
    static const Library library = [] {
        const CudnnStatus status = cudnn_status();
        if (!status.available) skip(status.reason);
        return Library({});
    }();
    return library;
}

const Descriptor& h200() {
    static const Descriptor properties = [] {
        try {
            return device_properties(real_library(), k_h200);
        } catch (const Error& error) {
            skip(error.what());
        }
    }();
    return properties;
}

Problem draw_expressible(test::Draw& draw) {
    for (;;) {
        Problem p = test::draw_problem(draw);
        p.layout = draw.chance(50) ? Layout::nchw : Layout::nhwc;
        p.dtype = draw.chance(50) ? DataType::f32 : draw.chance(50) ? DataType::f16 : DataType::bf16;
        if (inexpressible(p).empty()) return p;
    }
}

}  // namespace

TEST_CASE("the real library takes the graph of every expressible problem, in every variant") {
    const Library& library = real_library();
    test::Draw draw(51);
    for (int round = 0; round < test::rounds(60); ++round) {
        const Problem p = draw_expressible(draw);
        INFO(key(p));
        for (const CudnnLayout layout : {CudnnLayout::same, CudnnLayout::other}) {
            for (const Variant& variant : variants_of(p, layout)) {
                INFO(name_of(variant, p));
                const Convolution convolution = convolution_of(p, variant.tensors, variant.weight);
                CHECK_NOTHROW(make_graph(library, nullptr, convolution, p.dtype, variant.fused_bias));
            }
        }
    }
}

TEST_CASE("the real library has engines for nearly every problem, and makes plans of them") {
    const Library& library = real_library();
    test::Draw draw(52);
    int without = 0;
    const int rounds = test::rounds(20);
    for (int round = 0; round < rounds; ++round) {
        const Problem p = draw_expressible(draw);
        INFO(key(p));
        const Graph graph =
            make_graph(library, nullptr, convolution_of(p, p.layout, p.layout), p.dtype, /*fused_bias=*/false);
        std::size_t plans = 0;
        for (const Heuristics heuristics : k_heuristics) {
            for (const EngineConfig& config : engine_configs(library, graph, heuristics, &h200())) {
                try {
                    CHECK(Plan(library, nullptr, &h200(), config).workspace_bytes() >= 0);
                    ++plans;
                } catch (const Error&) {
                    // Engines that compile at run time want the driver.
                }
            }
        }
        without += plans == 0 ? 1 : 0;
    }
    CHECK(without <= rounds / 4);
}

TEST_CASE("settings of an engine tell its configurations apart") {
    const Library& library = real_library();
    Problem p;
    p.batch = 8;
    p.in_channels = 64;
    p.out_channels = 64;
    p.input = {1, 32, 32};
    p.kernel = {1, 4, 4};
    p.stride = {1, 2, 2};
    p.padding = {0, 1, 1};
    p.dtype = DataType::f16;
    const Graph graph =
        make_graph(library, nullptr, convolution_of(p, Layout::nchw, Layout::nchw), p.dtype, /*fused_bias=*/false);
    std::set<std::string> names;
    std::set<std::int64_t> engines;
    for (const EngineConfig& config : engine_configs(library, graph, Heuristics::quick, &h200())) {
        names.insert(name_of(config));
        engines.insert(config.engine);
    }
    CHECK(engines.size() > 1);
    CHECK(names.size() > engines.size());
}
