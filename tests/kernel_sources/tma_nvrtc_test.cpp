#include "device/nvrtc/nvrtc.hpp"
#include "tests/catch.hpp"
#include "tests/support/cluster_ring.hpp"
#include "tests/support/tensor_boxes.hpp"

// The real compiler takes the inline assembly; needs no GPU.

using namespace tconv;

TEST_CASE("NVRTC compiles copies of boxes, to one block or several, for compute capability 9.0 and later") {
    for (const char* architecture : {"sm_90", "sm_90a", "sm_100"}) {
        for (const auto& [source, kernels] :
             {std::pair(test::load_box_source(), test::load_box_kernels()),
              std::pair(test::copy_source(), std::vector<std::string>{"copy"}),
              std::pair(test::cluster_ring_source(), std::vector<std::string>{"cluster_ring"})}) {
            CompileRequest request;
            request.name = "tma_test.cu";
            request.source = source;
            request.kernels = kernels;
            request.architecture = architecture;
            const CompileResult compiled = make_nvrtc_compiler()->compile(request);
            INFO(architecture << ": " << compiled.log);
            CHECK(compiled.ok);
        }
    }
}

TEST_CASE("NVRTC compiles plain copies and every operation of a barrier") {
    CompileRequest request;
    request.name = "tma_test.cu";
    request.source = expand_includes("tma.cuh") + R"cuda(
using namespace tconv;
extern "C" __global__ void plain(const float* in, float* out) {
    __shared__ Barrier barrier;
    __shared__ __align__(128) float numbers[32];
    if (threadIdx.x == 0) {
        barrier_init(barrier, 1);
        barrier_init_fence();
        barrier_expect(barrier, 128);
        tma_load_bytes(numbers, in, 128, barrier);
        barrier_arrive(barrier);
    }
    __syncthreads();
    while (!barrier_try_wait(barrier, 0)) {
    }
    out[threadIdx.x] = numbers[swizzled<128>(threadIdx.x * 4) / 4];
}
)cuda";
    request.kernels = {"plain"};
    request.architecture = "sm_90a";
    const CompileResult compiled = make_nvrtc_compiler()->compile(request);
    INFO(compiled.log);
    CHECK(compiled.ok);
}
