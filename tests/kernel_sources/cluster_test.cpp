#include <array>
#include <string>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/cluster_ring.hpp"
#include "tests/support/contains.hpp"

// The emulator's twins of cluster.cuh.

using namespace tconv;

namespace {

/// The ring's source with one piece of its text replaced.
std::string ring_but(const std::string& text, const std::string& instead) {
    std::string source = test::cluster_ring_source();
    const std::size_t at = source.find(text);
    REQUIRE(at != std::string::npos);
    return source.replace(at, text.size(), instead);
}

/// The sentence with which the first of some runs fails; "wrong" where one computes something else; else nothing.
std::string failure_of(const std::string& source) {
    const auto module = test::emulated().build(source, {"cluster_ring"});
    for (int round = 0; round < 10; ++round) {
        const test::ClusterRingCase c{2, 2, 20, round % 2 == 1};
        try {
            if (test::run_cluster_ring(*test::emulated().device, *module, c) != test::expected_of_ring(c))
                return "wrong";
        } catch (const Error& error) {
            return error.what();
        }
    }
    return {};
}

/// The error of a cluster of two blocks that run `body`, 32 threads each; nothing where there is none.
std::string error_of(const std::string& body) {
    const std::string source = expand_includes("cluster.cuh") + R"cuda(
#line 1 "body.cu"
using namespace tconv;
extern "C" __global__ void body(const float* in, float* out) {
    __shared__ Barrier barrier;
    __shared__ __align__(128) float shared[32];
    const int rank = blockIdx.x % 2;
    if (threadIdx.x == 0) barrier_init(barrier, 1);
)cuda" + body + "\n}\n";
    Device& device = *test::emulated().device;
    const auto module = test::emulated().build(source, {"body"});
    const test::OnDevice in(device, std::vector<float>(32, 1.0F));
    const test::OnDevice out(device, std::vector<float>(64));
    DevicePointer from = in.address();
    DevicePointer to = out.address();
    std::array<void*, 2> arguments{&from, &to};
    LaunchGeometry geometry{{2, 1, 1}, {32, 1, 1}, 0};
    geometry.cluster = 2;
    try {
        device.launch(*module, "body", geometry, arguments.data(), nullptr);
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

}  // namespace

TEST_CASE("blocks of a cluster that load for each other compute what they should") {
    const auto module = test::emulated().build(test::cluster_ring_source(), {"cluster_ring"});
    for (const int blocks : {1, 2, 4, 8}) {
        for (const int clusters : {1, 3}) {
            for (const int chunks : {1, 2, 3, 4, 17}) {
                for (const bool boxes : {false, true}) {
                    const test::ClusterRingCase c{clusters, blocks, chunks, boxes};
                    INFO(blocks << " blocks, " << clusters << " clusters, " << chunks << " chunks, boxes " << boxes);
                    REQUIRE(test::run_cluster_ring(*test::emulated().device, *module, c) == test::expected_of_ring(c));
                }
            }
        }
    }
}

TEST_CASE("a ring of a cluster with a mistake hangs, fails or computes something else") {
    CHECK(failure_of(test::cluster_ring_source()).empty());
    // An arrival that the neighbour waits for comes to another barrier, or not at all.
    CHECK(!failure_of(ring_but("barrier_arrive_in_cluster(ring.empty[stage], threadIdx.x)",
                               "barrier_arrive_in_cluster(ring.empty[stage], blockIdx.x % blocks)"))
               .empty());
    CHECK_THAT(failure_of(ring_but("if (threadIdx.x < blocks) barrier_arrive",
                                   "if (threadIdx.x == blockIdx.x % blocks) barrier_arrive")),
               contains("deadlock") && contains("lacks 1 arrivals"));
    // A stage is filled again while the neighbour may still read it.
    CHECK(!failure_of(ring_but("barrier_wait(ring.empty[stage], chunk / stages % 2 ^ 1);", "")).empty());
    // Bytes that do not come, or too many.
    CHECK_THAT(failure_of(ring_but("(ring.full[stage], 4 * chunk_floats)", "(ring.full[stage], 8 * chunk_floats)")),
               contains("deadlock"));
    CHECK(
        !failure_of(ring_but("(ring.full[stage], 4 * chunk_floats)", "(ring.full[stage], 2 * chunk_floats)")).empty());
    // Blocks that begin or end before their neighbours.
    CHECK_THAT(failure_of(ring_but("    cluster_sync();\n    if (threadIdx.x == 32)",
                                   "    __syncthreads();\n    if (threadIdx.x == 32)")),
               contains("not initialised"));
    CHECK_THAT(failure_of(ring_but("cluster_sync();  // at the end", "")), contains("has ended"));
}

TEST_CASE("a cluster waits for the threads of all its blocks") {
    CHECK(error_of("out[rank] = 1; cluster_sync(); if (out[0] + out[1] != 2) barrier_arrive_in_cluster(barrier, 9);")
              .empty());
    CHECK_THAT(
        error_of("\nif (rank == 0) cluster_sync();"),
        contains("deadlock in block (0,0,0): 32 threads wait at cluster_sync (line 8)") && !contains("block (1,0,0)"));
    CHECK_THAT(error_of("if (rank == 0) {\ncluster_sync();\n} else {\n__syncthreads();\ncluster_sync();\n}"),
               contains("deadlock in block (0,0,0)") && contains("in block (1,0,0)"));
}

TEST_CASE("misuse of a cluster is told") {
    const std::string begin = "barrier_init_fence(); cluster_sync(); if (threadIdx.x == 0 && rank == 0) {\n";
    const std::string end = "}\ncluster_sync();";
    CHECK_THAT(error_of(begin + "barrier_arrive_in_cluster(barrier, 2);" + end),
               contains("block 2 is asked for in a cluster of 2 (line 8)"));
    CHECK_THAT(error_of(begin + "tma_load_bytes_to(5, shared, in, 128, barrier);" + end),
               contains("blocks 0x5 of a cluster of 2"));
    CHECK_THAT(error_of(begin + "Barrier own; barrier_arrive_in_cluster(own, 1);" + end),
               contains("is none in that of its own"));
    CHECK_THAT(error_of(begin +
                        "barrier_arrive_and_expect(barrier, 128);"
                        "tma_load_bytes_to(3, shared, in, 128, barrier); barrier_wait(barrier, 0);" +
                        end),
               contains("block (1,0,0) ends before copies"));
    // To the neighbour alone, in objects that are not dynamic shared memory.
    CHECK(error_of("shared[threadIdx.x] = 5; barrier_init_fence(); cluster_sync(); if (threadIdx.x == 0) {"
                   "if (rank == 0) tma_load_bytes_to(2, shared, in, 128, barrier); else {"
                   "barrier_arrive_and_expect(barrier, 128); barrier_wait(barrier, 0); }"
                   "if (shared[7] != (rank == 0 ? 5 : 1)) barrier_init(barrier, 0); } cluster_sync();")
              .empty());
}
