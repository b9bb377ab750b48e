#include <string>
#include <vector>

#include "device/driver/nvml.hpp"
#include "tests/catch.hpp"

using namespace tconv;

namespace {

using Warnings = std::vector<std::string>;

GpuConditions busy(int sm_mhz = 1980) {
    GpuConditions conditions;
    conditions.available = true;
    conditions.sm_mhz = sm_mhz;
    conditions.memory_mhz = 3201;
    conditions.max_sm_mhz = 1980;
    conditions.temperature_celsius = 50;
    conditions.power_watts = 600;
    conditions.power_capped_milliseconds = 100;
    conditions.heat_slowed_milliseconds = 0;
    conditions.other_processes = 0;
    return conditions;
}

}  // namespace

TEST_CASE("steady conditions give no warning") {
    CHECK(condition_warnings(busy(), busy()).empty());
    CHECK(condition_warnings(busy(1980), busy(1890)).empty());  // 4.5 %
    CHECK(condition_warnings({}, {}).empty());
    CHECK(condition_warnings({}, busy(1200)).empty());
    CHECK(condition_warnings(busy(), {}).empty());
}

TEST_CASE("a clock that moved is told with both values") {
    CHECK(condition_warnings(busy(1980), busy(1200)) == Warnings{"the SM clock moved from 1980 to 1200 MHz"});
    CHECK(condition_warnings(busy(1200), busy(1980)) == Warnings{"the SM clock moved from 1200 to 1980 MHz"});
    GpuConditions slow_memory = busy();
    slow_memory.memory_mhz = 2619;
    CHECK(condition_warnings(busy(), slow_memory) == Warnings{"the memory clock moved from 3201 to 2619 MHz"});
}

TEST_CASE("the clocks of an idle GPU tell nothing") {
    GpuConditions idle = busy(345);
    idle.idle = true;
    CHECK(condition_warnings(idle, busy()).empty());
    CHECK(condition_warnings(busy(), idle).empty());
}

TEST_CASE("other processes at either moment are told") {
    GpuConditions shared = busy();
    shared.other_processes = 1;
    CHECK(condition_warnings(shared, busy()) == Warnings{"another process uses the GPU"});
    CHECK(condition_warnings(busy(), shared) == Warnings{"another process uses the GPU"});
    shared.other_processes = 4;
    CHECK(condition_warnings(busy(), shared) == Warnings{"4 other processes use the GPU"});
    shared.other_processes = -1;
    CHECK(condition_warnings(busy(), shared).empty());
}

TEST_CASE("a slowdown at either moment or in between is told once") {
    GpuConditions slowed = busy();
    slowed.throttle_reasons = {"power cap"};
    CHECK(condition_warnings(slowed, busy()) == Warnings{"the GPU was slowed down (power cap)"});
    CHECK(condition_warnings(busy(), slowed) == Warnings{"the GPU was slowed down (power cap)"});
    slowed.power_capped_milliseconds = 1100;
    slowed.heat_slowed_milliseconds = 20;
    CHECK(condition_warnings(busy(), slowed) == Warnings{"the GPU was slowed down (power cap; temperature)"});
    GpuConditions in_between = busy();
    in_between.power_capped_milliseconds += k_slowdown_milliseconds;
    CHECK(condition_warnings(busy(), in_between) == Warnings{"the GPU was slowed down (power cap)"});
    in_between.power_capped_milliseconds = 100.5;
    CHECK(condition_warnings(busy(), in_between).empty());
    in_between.power_capped_milliseconds = -1;
    CHECK(condition_warnings(busy(), in_between).empty());
    CHECK(condition_warnings(in_between, busy()).empty());
}

TEST_CASE("every kind of warning has a sentence of its own") {
    GpuConditions bad = busy(990);
    bad.other_processes = 1;
    bad.throttle_reasons = {"temperature"};
    CHECK(condition_warnings(busy(), bad) == Warnings{"another process uses the GPU",
                                                      "the SM clock moved from 1980 to 990 MHz",
                                                      "the GPU was slowed down (temperature)"});
}
