#include "bench/cudnn/cudnn.hpp"
#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/emulated.hpp"

using namespace tconv;

TEST_CASE("a build without cuDNN says so in one sentence") {
    const CudnnStatus status = cudnn_status();
    CHECK_FALSE(status.available);
    CHECK_THAT(status.reason, contains("cuDNN"));
    auto& emulated = test::emulated();
    Builder builder(*emulated.compiler, emulated.device->info());
    CHECK_THROWS_AS(open_cudnn(*emulated.device, builder), Error);
}
