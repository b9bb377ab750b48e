// Barriers that cannot be passed are reported, with who waits where.

#include "emulator_for_tests.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"

namespace tconv {
namespace {

constexpr const char* k_source = R"(
extern "C" __global__ void some_exit(int* out) {
    if (threadIdx.x >= 31) return;
    __syncthreads();
    out[0] = 1;
}
extern "C" __global__ void two_barriers(int* out) {
    if (threadIdx.x < 64) {
        __syncthreads();
    } else {
        __syncthreads();
    }
    out[0] = 1;
}
extern "C" __global__ void lane_missing(int* out) {
    int value = threadIdx.x;
    if (threadIdx.x != 5) value = __shfl_sync(0xffffffffu, value, 0);
    out[threadIdx.x] = value;
}
extern "C" __global__ void masks_differ(int* out) {
    out[threadIdx.x] = __shfl_xor_sync(threadIdx.x == 0 ? 0xffu : 0xffffffffu, 1, 1);
}
extern "C" __global__ void not_in_mask(int* out) {
    out[threadIdx.x] = __ballot_sync(0xfffffffeu, 1);
}
extern "C" __global__ void kinds_differ(int* out) {
    if (threadIdx.x % 2 == 0) __syncwarp(); else out[0] = __any_sync(0xffffffffu, 1);
}
extern "C" __global__ void one_block_fails(int* out) {
    if (blockIdx.x == 3 && blockIdx.y == 1 && threadIdx.x == 0) return;
    __syncthreads();
    atomicAdd(out, 1);
}
extern "C" __global__ void count_votes(int* out) {
    const int odd = threadIdx.x % 2;
    const int count = __syncthreads_count(odd);
    const int all = __syncthreads_and(threadIdx.x < 1000);
    const int not_all = __syncthreads_and(threadIdx.x < 99);
    const int any = __syncthreads_or(threadIdx.x == 7);
    const int none = __syncthreads_or(0);
    if (threadIdx.x == 50) { out[0] = count; out[1] = all; out[2] = not_all; out[3] = any; out[4] = none; }
}
)";

class Fixture {
public:
    Fixture() {
        module_ =
            device_->load(compile_or_fail(k_source, {"some_exit", "two_barriers", "lane_missing", "masks_differ",
                                                     "not_in_mask", "kinds_differ", "one_block_fails", "count_votes"}));
    }
    void run(const std::string& kernel, std::int64_t threads, std::array<std::int64_t, 3> grid = {1, 1, 1}) {
        launch(*device_, *module_, kernel, {grid, {threads, 1, 1}, 0}, out_.pointer());
    }
    std::string failure(const std::string& kernel, std::int64_t threads, std::array<std::int64_t, 3> grid = {1, 1, 1}) {
        return failure_of([&] { run(kernel, threads, grid); });
    }
    [[nodiscard]] std::vector<int> values() const { return out_.values(); }

private:
    std::unique_ptr<Device> device_ = make_emulator();
    std::unique_ptr<Module> module_;
    Buffer<int> out_{*device_, 256};
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a barrier that exited threads never reach is a deadlock") {
    CHECK(failure("some_exit", 256) ==
          "kernel some_exit: deadlock in block (0,0,0): 31 threads wait at __syncthreads (line 4), 225 have exited");
    CHECK(failure("some_exit", 32) ==
          "kernel some_exit: deadlock in block (0,0,0): 31 threads wait at __syncthreads (line 4), 1 has exited");
    CHECK(values()[0] == 0);
    run("some_exit", 31);
    CHECK(values()[0] == 1);
}

TEST_CASE_METHOD(Fixture, "a barrier inside a condition that differs within the block is a deadlock") {
    CHECK(failure("two_barriers", 96) ==
          "kernel two_barriers: deadlock in block (0,0,0): 32 threads wait at __syncthreads (line 11), 64 threads wait "
          "at "
          "__syncthreads (line 9)");
}

TEST_CASE_METHOD(Fixture, "a warp operation whose mask names an absent lane is a deadlock") {
    CHECK(failure("lane_missing", 32) ==
          "kernel lane_missing: deadlock in block (0,0,0): 31 threads wait at __shfl_sync with mask 0xffffffff (line "
          "17), "
          "1 has exited");
    CHECK(failure("masks_differ", 32) ==
          "kernel masks_differ: deadlock in block (0,0,0): 1 thread waits at __shfl_xor_sync with mask 0x000000ff "
          "(line 21), 31 threads wait at __shfl_xor_sync with mask 0xffffffff (line 21)");
    CHECK_THAT(failure("kinds_differ", 32), contains("16 threads wait at __any_sync with mask 0xffffffff (line 27)") &&
                                                contains("16 threads wait at __syncwarp with mask 0xffffffff"));
}

TEST_CASE_METHOD(Fixture, "a lane that its own mask does not name is refused") {
    CHECK(failure("not_in_mask", 32) ==
          "kernel not_in_mask: block (0,0,0), thread (0,0,0): lane 0 calls a warp operation (line 24) with mask "
          "0xfffffffe, which does not name it");
}

TEST_CASE_METHOD(Fixture, "the block that fails is named, and the device stays usable") {
    for (int round = 0; round < 10; ++round) {
        CHECK_THAT(failure("one_block_fails", 64, {5, 4, 1}),
                   contains("deadlock in block (3,1,0): 63 threads wait at __syncthreads (line 31), 1 has exited"));
    }
    const int before = values()[0];
    run("one_block_fails", 64, {3, 4, 1});
    CHECK(values()[0] == before + 3 * 4 * 64);
}

TEST_CASE_METHOD(Fixture, "barriers that count see the votes of the whole block") {
    run("count_votes", 100);
    const auto out = values();
    CHECK(std::vector<int>(out.begin(), out.begin() + 5) == std::vector<int>{50, 1, 0, 1, 0});
}

}  // namespace tconv
