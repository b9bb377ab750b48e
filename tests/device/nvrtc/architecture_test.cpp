#include "device/nvrtc/nvrtc.hpp"
#include "tests/catch.hpp"

using namespace tconv;

TEST_CASE("architectures from 9.0 on are the specific ones") {
    DeviceInfo info;
    const auto architecture = [&](int major, int minor) {
        info.compute_major = major;
        info.compute_minor = minor;
        return architecture_of(info);
    };
    CHECK(architecture(7, 5) == "sm_75");
    CHECK(architecture(8, 9) == "sm_89");
    CHECK(architecture(9, 0) == "sm_90a");
    CHECK(architecture(10, 0) == "sm_100a");
    CHECK(architecture(12, 0) == "sm_120a");
}
