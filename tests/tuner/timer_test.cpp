#include "tuner/timer.hpp"

#include <deque>

#include "tests/catch.hpp"

using namespace tconv;

namespace {

/// A device whose clock the test sets: each sample is what the work says of itself.
class ScriptedDevice : public Device {
public:
    DeviceInfo facts;
    double next = 0;
    std::vector<std::string> order;

    [[nodiscard]] const DeviceInfo& info() const override { return facts; }
    [[nodiscard]] std::unique_ptr<Module> load(const CompiledCode&) override { return nullptr; }
    [[nodiscard]] KernelResources resources(Module&, const std::string&, const LaunchGeometry&) override { return {}; }
    void copy_to_device(DevicePointer, const void*, std::size_t) override {}
    void copy_to_host(void*, DevicePointer, std::size_t) override {}
    void fill(DevicePointer, unsigned char, std::size_t) override { order.emplace_back("flush"); }
    [[nodiscard]] EncodedTensorMap encode(const TensorMap&, std::int64_t, DevicePointer) override { return {}; }
    void launch(Module&, const std::string&, const LaunchGeometry&, void**, StreamHandle) override {}
    void synchronize() override {}
    std::unique_ptr<Recording> record(const std::function<void(StreamHandle)>&) override { return nullptr; }
    [[nodiscard]] std::vector<double> time(int count, const std::function<void()>& before,
                                           const std::function<void()>& work) override {
        std::vector<double> samples;
        for (int i = 0; i < count; ++i) {
            before();
            work();
            samples.push_back(next);
        }
        return samples;
    }

private:
    [[nodiscard]] DevicePointer take_memory(std::size_t) override { return 256; }
    void give_memory_back(DevicePointer) noexcept override {}
};

}  // namespace

TEST_CASE("median, minimum and spread of samples") {
    const Timing odd = summarise({5, 1, 3});
    CHECK(odd.median == 3);
    CHECK(odd.minimum == 1);
    CHECK(odd.samples == std::vector<double>{5, 1, 3});
    // Quartiles of 1..5 are 2 and 4.
    CHECK(summarise({1, 2, 3, 4, 5}).spread == Approx(1.0 / 3));
    CHECK(summarise({1, 2, 3, 4}).median == 2.5);
    CHECK(summarise({7}).spread == 0);
}

TEST_CASE("a far slower candidate costs one sample, a close one is sampled on") {
    ScriptedDevice device;
    Timer timer(device);
    device.next = 2.0;
    const Timing slow = timer.time([] {}, 1.0);
    CHECK(slow.dropped_early);
    CHECK(slow.samples.size() == 1);
    const Timing close = timer.time([] {}, 1.9);
    CHECK(!close.dropped_early);
    CHECK(close.samples.size() > 1);
    CHECK(!timer.time([] {}, 0).dropped_early);
}

TEST_CASE("sampling goes on while the spread is large, up to a limit") {
    ScriptedDevice device;
    TimerSettings settings;
    settings.max_samples = 23;
    Timer timer(device, settings);
    int calls = 0;
    CHECK(timer.time([&] { device.next = 1 + ++calls % 7; }, 0).samples.size() == 23);
    device.next = 1;
    CHECK(timer.time([] {}, 0).samples.size() < 23);
}

TEST_CASE("a long candidate is sampled within its share of device time") {
    ScriptedDevice device;
    TimerSettings settings;
    settings.max_seconds = 1;
    Timer timer(device, settings);
    int calls = 0;
    // 200 ms a sample with a wide spread: five samples fit in a second.
    CHECK(timer.time([&] { device.next = 200 + 100 * (++calls % 2); }, 0).samples.size() <= 5);
}

TEST_CASE("finalists are timed in turn, each run once untimed and the L2 flushed before") {
    ScriptedDevice device;
    device.facts.kind = DeviceKind::cuda;
    device.facts.memory_bytes = std::int64_t{1} << 34;
    Timer timer(device);
    const auto timings = timer.interleave({[&] {
                                               device.order.emplace_back("a");
                                               device.next = 1;
                                           },
                                           [&] {
                                               device.order.emplace_back("b");
                                               device.next = 2;
                                           }},
                                          2);
    CHECK(device.order ==
          std::vector<std::string>{"a", "flush", "a", "b", "flush", "b", "a", "flush", "a", "b", "flush", "b"});
    CHECK(timings[0].samples == std::vector<double>{1, 1});
    CHECK(timings[1].median == 2);
}
