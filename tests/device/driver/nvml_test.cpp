#include "device/driver/nvml.hpp"

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/support/contains.hpp"

// The library is opened once a process: CTest runs every case in a process of its own, and each case says first how the
// fake library is to behave.
namespace {

using namespace tconv;

constexpr const char* k_bus_id = "0000:1b:00.0";

void use_fake(std::initializer_list<std::pair<std::string, int>> settings = {}) {
    static std::vector<std::string> earlier;  // other sections'
    for (const std::string& name : earlier)
        unsetenv(name.c_str());
    earlier.clear();
    setenv("TCONV_NVML", TCONV_FAKE_NVML, 1);
    for (const auto& [name, value] : settings) {
        earlier.push_back("FAKE_NVML_" + name);
        setenv(earlier.back().c_str(), std::to_string(value).c_str(), 1);
    }
}

}  // namespace

TEST_CASE("without the management library conditions are not available, with the reason") {
    setenv("TCONV_NVML", "/nonexistent/libnvidia-ml.so.1", 1);
    const GpuConditions conditions = GpuMonitor(k_bus_id).read();
    CHECK_FALSE(conditions.available);
    CHECK_THAT(conditions.reason, contains("/nonexistent/libnvidia-ml.so.1"));
    CHECK(conditions.other_processes == -1);
    CHECK(GpuMonitor::driver_package_version().empty());
    CHECK(condition_warnings(conditions, conditions).empty());
}

TEST_CASE("a management library that does not start is named with its error") {
    use_fake({{"nvmlInit", 9}});
    const GpuConditions conditions = GpuMonitor(k_bus_id).read();
    CHECK_FALSE(conditions.available);
    CHECK_THAT(conditions.reason, contains("does not start: Driver Not Loaded"));
    CHECK(GpuMonitor::driver_package_version().empty());
}

TEST_CASE("a GPU that the management library does not know is named") {
    use_fake();
    const GpuConditions conditions = GpuMonitor("0000:99:00.0").read();
    CHECK_FALSE(conditions.available);
    CHECK_THAT(conditions.reason, contains("'0000:99:00.0': Not Found"));
}

TEST_CASE("all conditions are read") {
    use_fake({{"compute", 1}, {"reasons", 0x4 | 0x20}});
    const GpuConditions conditions = GpuMonitor(k_bus_id).read();
    CHECK(conditions.available);
    CHECK(conditions.reason.empty());
    CHECK_FALSE(conditions.idle);
    CHECK(conditions.sm_mhz == 1980);
    CHECK(conditions.memory_mhz == 3201);
    CHECK(conditions.max_sm_mhz == 1985);
    CHECK(conditions.temperature_celsius == 41);
    CHECK(conditions.power_watts == Approx(123.456));
    CHECK(conditions.throttle_reasons == std::vector<std::string>{"power cap", "temperature"});
    CHECK(conditions.power_capped_milliseconds == Approx(2.5));
    CHECK(conditions.heat_slowed_milliseconds == Approx(7));
    CHECK(conditions.other_processes == 0);
    CHECK(GpuMonitor::driver_package_version() == "580.159.04");
}

TEST_CASE("idle, the user's clocks and a display's clocks are no slowdown") {
    use_fake({{"reasons", 0x1 | 0x2 | 0x100}});
    const GpuConditions conditions = GpuMonitor(k_bus_id).read();
    CHECK(conditions.idle);
    CHECK(conditions.throttle_reasons.empty());
}

TEST_CASE("what a virtual machine refuses is absent with a reason, and the rest is there") {
    use_fake({{"sm_clock", 3},
              {"nvmlDeviceGetPowerUsage", 77},
              {"nvmlDeviceGetCurrentClocksThrottleReasons", 3},
              {"nvmlDeviceGetComputeRunningProcesses", 3},
              {"nvmlDeviceGetViolationStatus", 3}});
    const GpuConditions conditions = GpuMonitor(k_bus_id).read();
    CHECK(conditions.available);
    CHECK(
        conditions.reason ==
        "SM clock: Not Supported; reasons of the clocks: Not Supported; power: error 77; time slowed down by the power "
        "cap: Not Supported; time slowed down by heat: Not Supported; compute processes: Not Supported");
    CHECK(conditions.sm_mhz == 0);
    CHECK(conditions.memory_mhz == 3201);
    CHECK(conditions.temperature_celsius == 41);
    CHECK(conditions.power_watts == 0);
    CHECK(conditions.power_capped_milliseconds < 0);
    CHECK(conditions.other_processes == -1);
    CHECK(condition_warnings(conditions, conditions).empty());
}

TEST_CASE("other processes are counted, this one not") {
    SECTION("with this process's own number") {
        use_fake({{"compute", 3}});
        CHECK(GpuMonitor(k_bus_id).read().other_processes == 2);
    }
    SECTION("where this process has another number in the list") {
        use_fake({{"compute", 3}, {"hide_own", 1}});
        CHECK(GpuMonitor(k_bus_id).read().other_processes == 2);
    }
    SECTION("with those that draw, a process in both lists once") {
        use_fake({{"compute", 2}, {"graphics", 3}});
        CHECK(GpuMonitor(k_bus_id).read().other_processes == 3);
    }
    SECTION("more than fit into the first list") {
        use_fake({{"compute", 100}});
        CHECK(GpuMonitor(k_bus_id).read().other_processes == 99);
    }
    SECTION("none that uses the GPU") {
        use_fake({{"compute", 0}});
        CHECK(GpuMonitor(k_bus_id).read().other_processes == 0);
    }
    SECTION("without the list of those that draw") {
        use_fake({{"compute", 2}, {"nvmlDeviceGetGraphicsRunningProcesses", 3}});
        const GpuConditions conditions = GpuMonitor(k_bus_id).read();
        CHECK(conditions.other_processes == 1);
        CHECK(conditions.reason == "graphics processes: Not Supported");
    }
}
