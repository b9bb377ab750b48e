#include "tests/kernel_sources/copying_gpu.hpp"
#include "tests/support/cluster_ring.hpp"

// The hardware's copies to several blocks against what they should bring.

using namespace tconv;

TEST_CASE("on a GPU blocks of a cluster that load for each other compute what they should") {
    const std::unique_ptr<Device> gpu = test::copying_gpu();
    const auto module = test::build_on(*gpu, test::cluster_ring_source(), {"cluster_ring"});
    for (const int blocks : {1, 2, 4, 8}) {
        for (const int clusters : {1, 40}) {
            for (const int chunks : {1, 3, 4, 100}) {
                for (const bool boxes : {false, true}) {
                    const test::ClusterRingCase c{clusters, blocks, chunks, boxes};
                    INFO(blocks << " blocks, " << clusters << " clusters, " << chunks << " chunks, boxes " << boxes);
                    CHECK(test::run_cluster_ring(*gpu, *module, c) == test::expected_of_ring(c));
                }
            }
        }
    }
}
