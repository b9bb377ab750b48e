#include "runtime/runtime.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <new>
#include <thread>
#include <vector>

#include "cache/database.hpp"
#include "core/error.hpp"
#include "device/emulator/emulator.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/scatter.hpp"
#include "tests/runtime/stored_winner.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/packing_winner.hpp"

namespace {

using namespace tconv;

// A runtime on the emulator with a database of its own.
struct Fixture {
    test::ScratchFolder folder;
    std::string database = folder.file("tconv.db");

    Fixture() { setenv("TCONV_CACHE", TCONV_TEST_CACHE, 1); }

    void make_database() const { (void)Database(database, OpenMode::read_write); }
    void store(const Trial& trial) const {
        Database(database, OpenMode::read_write).record(make_emulator()->info(), trial, "");
    }
    [[nodiscard]] Runtime open() const { return Runtime({"emulator", database}); }
};

/// 64 bytes, so that an offset alone decides the alignment.
template <class T>
struct Aligned {
    using value_type = T;
    Aligned() = default;
    template <class U>
    Aligned(const Aligned<U>&) {}
    T* allocate(std::size_t count) { return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{64})); }
    void deallocate(T* memory, std::size_t) { ::operator delete (memory, std::align_val_t{64}); }
    friend bool operator==(const Aligned&, const Aligned&) { return true; }
};
using AlignedFloats = std::vector<float, Aligned<float>>;

void check_values(const Kernel& kernel, std::uint64_t seed = 1) {
    HostTensors tensors = random_tensors(kernel.problem(), seed);
    const std::vector<float> expected = scatter(kernel.problem(), tensors);
    std::vector<char> workspace(static_cast<std::size_t>(kernel.workspace_bytes()) + 1);
    kernel.launch({tensors.input.data(), tensors.weight.data(), kernel.problem().bias ? tensors.bias.data() : nullptr,
                   tensors.output.data(), workspace.data()});
    CHECK(tensors.output == expected);
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

int requests_in(const std::string& database) {
    sqlite3* handle = nullptr;
    REQUIRE(sqlite3_open(database.c_str(), &handle) == SQLITE_OK);
    int count = -1;
    const auto take = [](void* result, int, char** values, char**) {
        *static_cast<int*>(result) = std::atoi(values[0]);
        return 0;
    };
    sqlite3_exec(handle, "SELECT count(*) FROM request", take, &count, nullptr);
    sqlite3_close(handle);
    return count;
}

}  // namespace

TEST_CASE("a problem never tuned gets the reference kernel and right values") {
    const Fixture fixture;
    fixture.make_database();
    const Kernel kernel = fixture.open().fetch(small_problem());  // the runtime is gone: the kernel stands alone
    CHECK(kernel.rung() == Rung::reference);
    CHECK(kernel.warnings().empty());
    CHECK(kernel.workspace_bytes() == 0);
    CHECK_FALSE(kernel.description().empty());
    check_values(kernel);
    CHECK(requests_in(fixture.database) == 1);
}

TEST_CASE("one and three axes, and no bias, go the same way") {
    const Fixture fixture;
    fixture.make_database();
    const Runtime runtime = fixture.open();
    Problem line = small_problem(3);
    line.spatial_axes = 1;
    line.input = {1, 1, 17};
    line.kernel = {1, 1, 5};
    line.stride = {1, 1, 2};
    line.padding = {0, 0, 1};
    line.output_padding = {0, 0, 1};
    line.dilation = {1, 1, 1};
    line.bias = false;
    check_values(runtime.fetch(line), 2);
    Problem block = small_problem(2);
    block.spatial_axes = 3;
    block.input = {2, 3, 4};
    block.kernel = {2, 1, 3};
    block.stride = {3, 1, 2};
    block.padding = {0, 0, 2};
    block.output_padding = {1, 0, 0};
    block.dilation = {1, 1, 2};
    check_values(runtime.fetch(block), 3);
}

TEST_CASE("a tuned problem gets its winner") {
    const Fixture fixture;
    fixture.store(stored_trial(small_problem()));
    const Runtime runtime = fixture.open();
    const Kernel kernel = runtime.fetch(small_problem());
    CHECK(kernel.warnings() == "");
    CHECK(kernel.rung() == Rung::exact);
    CHECK_THAT(kernel.description(), contains("tile=4") && contains("1.5 ms"));
    check_values(kernel);
    CHECK(requests_in(fixture.database) == 0);
}

TEST_CASE("a winner less accurate than asked for is no winner") {
    const Fixture fixture;
    fixture.store(stored_trial(small_problem()));
    const Runtime runtime = fixture.open();
    CHECK(runtime.fetch(small_problem(), 1e-6).rung() == Rung::exact);
    CHECK(runtime.fetch(small_problem(), 9e-7).rung() == Rung::reference);
    CHECK_THROWS_AS(runtime.fetch(small_problem(), std::numeric_limits<double>::quiet_NaN()), Error);
}

TEST_CASE("a strict fetch gets the fastest strict kernel, or the reference kernel, and never another") {
    const Fixture fixture;
    Trial fast = stored_trial(small_problem());
    fast.config = {{"tile", 8}};
    fast.outcome.timing.median = fast.outcome.timing.minimum = 0.5;
    fast.strict = false;
    fixture.store(fast);
    {
        const Runtime runtime = fixture.open();
        CHECK_THAT(runtime.fetch(small_problem()).description(), contains("tile=8"));
        CHECK(runtime.fetch(small_problem(), -1, Math::strict).rung() == Rung::reference);
        CHECK(runtime.fetch(small_problem(3), -1, Math::strict).rung() == Rung::reference);
        CHECK(runtime.fetch(small_problem(3)).rung() == Rung::other_batch);
    }
    fixture.store(stored_trial(small_problem()));
    const Runtime runtime = fixture.open();
    for (int round = 0; round < 2; ++round) {
        CHECK_THAT(runtime.fetch(small_problem()).description(), contains("tile=8"));
        const Kernel strict = runtime.fetch(small_problem(), -1, Math::strict);
        CHECK(strict.rung() == Rung::exact);
        CHECK_THAT(strict.description(), contains("tile=4"));
        check_values(strict);
        CHECK(runtime.fetch(small_problem(), 9e-7, Math::strict).rung() == Rung::reference);
    }
    CHECK_THAT(runtime.fetch(small_problem(3), -1, Math::strict).description(), contains("tile=4"));
}

TEST_CASE("another batch is served by the same recipe") {
    const Fixture fixture;
    fixture.store(stored_trial(small_problem(2)));
    const Kernel kernel = fixture.open().fetch(small_problem(5));
    CHECK(kernel.warnings() == "");
    CHECK(kernel.rung() == Rung::other_batch);
    check_values(kernel);
}

TEST_CASE("a database that cannot be read is a miss with a warning and stays as it is") {
    const Fixture fixture;
    const std::string garbage(10000, 'x');
    std::ofstream(fixture.database, std::ios::binary) << garbage;
    const Runtime runtime = fixture.open();
    const Kernel kernel = runtime.fetch(small_problem());
    CHECK(kernel.rung() == Rung::reference);
    CHECK_THAT(kernel.warnings(), contains(fixture.database));
    check_values(kernel);
    CHECK(read_file(fixture.database) == garbage);
}

TEST_CASE("a named database that is not there is a warning and is not made") {
    const Fixture fixture;
    const Kernel kernel = fixture.open().fetch(small_problem());
    CHECK(kernel.rung() == Rung::reference);
    CHECK_THAT(kernel.warnings(), contains("There is no database " + fixture.database));
    CHECK_FALSE(std::filesystem::exists(fixture.database));
}

TEST_CASE("the default database may be missing") {
    const Fixture fixture;
    setenv("TCONV_DATABASE", fixture.database.c_str(), 1);
    const Runtime runtime({"emulator", ""});
    CHECK(runtime.fetch(small_problem()).warnings() == "");
}

TEST_CASE("a stored row that breaks a rule is a miss with a warning") {
    const Fixture fixture;
    Trial trial = stored_trial(small_problem());
    SECTION("geometry") {
        trial.outcome.plan.launches[0].block = {4096, 1, 1};
    }
    SECTION("shared memory") {
        trial.outcome.plan.launches[0].shared_bytes = std::int64_t{1} << 40;
    }
    SECTION("workspace") {
        trial.outcome.plan.workspace_bytes = std::int64_t{1} << 50;
    }
    SECTION("a kernel that is not there") {
        trial.outcome.plan.launches[0].kernel = "absent";
    }
    SECTION("a source file from elsewhere") {
        trial.outcome.plan.source_file = "../../evil.cu";
    }
    SECTION("program text as a name") {
        trial.outcome.plan.constants["x = 1; #error planted\nint y"] = 1;
    }
    SECTION("an older template") {
        trial.template_hash = "0123456789abcdef";
    }
    fixture.store(trial);
    const Kernel kernel = fixture.open().fetch(small_problem());
    CHECK(kernel.rung() == Rung::reference);
    CHECK_FALSE(kernel.warnings().empty());
    check_values(kernel);
}

TEST_CASE("a batch of 0 is legal and does nothing") {
    const Fixture fixture;
    fixture.make_database();
    const Kernel kernel = fixture.open().fetch(small_problem(0));
    CHECK(kernel.workspace_bytes() == 0);
    CHECK_NOTHROW(kernel.launch({}));
    CHECK(kernel.problem().batch == 0);
    CHECK(requests_in(fixture.database) == 0);
}

TEST_CASE("an invalid problem is refused") {
    const Fixture fixture;
    const Runtime runtime = fixture.open();
    Problem problem = small_problem();
    problem.groups = 4;  // does not divide 6
    try {
        (void)runtime.fetch(problem);
        FAIL("no error");
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::bad_input);
    }
    CHECK_THROWS_AS(runtime.fetch(small_problem(std::int64_t{1} << 31)), Error);
}

TEST_CASE("a null tensor is refused by name") {
    const Fixture fixture;
    fixture.make_database();
    const Runtime runtime = fixture.open();
    HostTensors host = random_tensors(small_problem(), 1);
    const Tensors whole{host.input.data(), host.weight.data(), host.bias.data(), host.output.data(), nullptr};
    const Kernel kernel = runtime.fetch(small_problem());
    const auto refused = [&](const Kernel& with, Tensors tensors) {
        try {
            with.launch(tensors);
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    Tensors tensors = whole;
    CHECK(refused(kernel, tensors) == "");
    tensors.input = nullptr;
    CHECK_THAT(refused(kernel, tensors), contains("input"));
    tensors = whole;
    tensors.weight = nullptr;
    CHECK_THAT(refused(kernel, tensors), contains("weight"));
    tensors = whole;
    tensors.bias = nullptr;
    CHECK_THAT(refused(kernel, tensors), contains("bias"));
    tensors = whole;
    tensors.output = nullptr;
    CHECK_THAT(refused(kernel, tensors), contains("output"));
    Problem plain = small_problem();
    plain.bias = false;
    CHECK_THAT(refused(runtime.fetch(plain), whole), contains("bias"));
}

TEST_CASE("a workspace is asked for and checked") {
    const Fixture fixture;
    Trial trial = stored_trial(small_problem());
    trial.outcome.plan.workspace_bytes = 100;
    trial.outcome.plan.workspace_bytes_per_batch = 8;
    fixture.store(trial);
    const Kernel kernel = fixture.open().fetch(small_problem());
    REQUIRE(kernel.rung() == Rung::exact);
    CHECK(kernel.workspace_bytes() == 116);
    HostTensors host = random_tensors(small_problem(), 1);
    CHECK_THROWS_WITH(
        kernel.launch({host.input.data(), host.weight.data(), host.bias.data(), host.output.data(), nullptr}),
        contains("116 bytes"));
    check_values(kernel);
}

TEST_CASE("tensors less aligned than the winner asks for go to the reference kernel") {
    const Fixture fixture;
    Trial trial = stored_trial(small_problem());
    trial.outcome.plan.alignment = 32;
    // Told to take the tensors for channels last, the stored winner is wrong: it tells itself apart.
    trial.outcome.plan.launches[0].arguments[4].values.back() = 1;
    fixture.store(trial);
    const Kernel kernel = fixture.open().fetch(small_problem());
    REQUIRE(kernel.rung() == Rung::exact);
    CHECK(kernel.alignment() == 32);
    CHECK(kernel.workspace_alignment() == 32);
    CHECK_THAT(kernel.description(), contains("for tensors aligned to 32 bytes"));

    const HostTensors host = random_tensors(small_problem(), 1);
    const std::vector<float> expected = scatter(small_problem(), host);
    // Four floats are 16 bytes: room to place a tensor at an odd multiple of any alignment.
    const auto outputs_at = [&](std::size_t input, std::size_t weight, std::size_t bias, std::size_t output) {
        const auto placed = [](AlignedFloats& memory, const std::vector<float>& values, std::size_t offset) {
            std::copy(values.begin(), values.end(), memory.begin() + static_cast<std::ptrdiff_t>(offset));
            return memory.data() + offset;
        };
        AlignedFloats x(host.input.size() + 16), w(host.weight.size() + 16), b(host.bias.size() + 16),
            y(host.output.size() + 16);
        float* results = placed(y, host.output, output);
        kernel.launch(
            {placed(x, host.input, input), placed(w, host.weight, weight), placed(b, host.bias, bias), results});
        return std::vector<float>(results, results + host.output.size());
    };
    CHECK(outputs_at(0, 0, 0, 0) != expected);
    CHECK(outputs_at(8, 8, 8, 8) != expected);
    CHECK(outputs_at(1, 0, 0, 0) == expected);
    CHECK(outputs_at(0, 2, 0, 0) == expected);
    CHECK(outputs_at(0, 0, 4, 0) == expected);
    CHECK(outputs_at(0, 0, 0, 7) == expected);
}

TEST_CASE("a call packs its weights into its workspace, or uses those prepared before") {
    const Fixture fixture;
    const test::PackingSources sources;
    fixture.store(test::PackingSources::winner(small_problem()));
    const Runtime runtime = fixture.open();
    const Kernel kernel = runtime.fetch(small_problem());
    REQUIRE(kernel.warnings().empty());
    REQUIRE(kernel.rung() == Rung::exact);
    const std::int64_t packed_bytes = 4 * weight_elements(small_problem());
    CHECK(kernel.packed_weight_bytes() == packed_bytes);
    CHECK(kernel.workspace_bytes_prepared() == 28);
    CHECK(kernel.workspace_bytes() == 32 + packed_bytes);  // 28 bytes rounded to the alignment of 16
    check_values(kernel);

    HostTensors host = random_tensors(small_problem(), 1);
    const std::vector<float> expected = scatter(small_problem(), host);
    AlignedFloats space(7), packed(host.weight.size());
    const PreparedWeights prepared = kernel.prepare(host.weight.data(), packed.data());
    // Other values by now: nothing reads them again.
    std::vector<float> others(host.weight.size(), -1);
    const Tensors tensors{host.input.data(), others.data(), host.bias.data(), host.output.data(), space.data()};
    for (int call = 0; call < 2; ++call) {
        std::fill(host.output.begin(), host.output.end(), -7.0F);
        kernel.launch(tensors, prepared);
        CHECK(host.output == expected);
    }
    std::fill(host.output.begin(), host.output.end(), -7.0F);
    runtime.fetch(small_problem()).launch(tensors, prepared);  // the same kernel, fetched again
    CHECK(host.output == expected);
    CHECK_THROWS_WITH(kernel.launch(tensors, PreparedWeights()), contains("another kernel"));
    const Kernel reference = runtime.fetch(small_problem(), 1e-9);
    REQUIRE(reference.rung() == Rung::reference);
    CHECK_THROWS_WITH(reference.launch(tensors, prepared), contains("another kernel"));
    CHECK_THROWS_WITH(kernel.prepare(nullptr, packed.data()), contains("weight is null"));
    CHECK_THROWS_WITH(kernel.prepare(host.weight.data(), nullptr), contains("packed weights is null"));
    CHECK_THROWS_WITH(kernel.prepare(host.weight.data(), packed.data() + 1), contains("multiple of 16"));
}

TEST_CASE("a kernel without packed weights takes prepared ones all the same") {
    const Fixture fixture;
    fixture.make_database();
    const Runtime runtime = fixture.open();
    const Kernel kernel = runtime.fetch(small_problem());
    CHECK(kernel.packed_weight_bytes() == 0);
    HostTensors host = random_tensors(small_problem(), 1);
    const std::vector<float> expected = scatter(small_problem(), host);
    const PreparedWeights prepared = kernel.prepare(host.weight.data(), nullptr);
    kernel.launch({host.input.data(), host.weight.data(), host.bias.data(), host.output.data(), nullptr}, prepared);
    CHECK(host.output == expected);
    const Kernel nothing = runtime.fetch(small_problem(0));
    CHECK_NOTHROW(nothing.launch({}, nothing.prepare(nullptr, nullptr)));
}

TEST_CASE("less aligned tensors go to the reference kernel with prepared weights too") {
    const Fixture fixture;
    const test::PackingSources sources;
    Trial trial = test::PackingSources::winner(small_problem());
    trial.outcome.plan.alignment = 32;
    fixture.store(trial);
    const Kernel kernel = fixture.open().fetch(small_problem());
    REQUIRE(kernel.rung() == Rung::exact);
    HostTensors host = random_tensors(small_problem(), 1);
    const std::vector<float> expected = scatter(small_problem(), host);
    AlignedFloats weight(host.weight.begin(), host.weight.end()), input(host.input.size() + 1), packed(weight.size()),
        space(8);
    std::copy(host.input.begin(), host.input.end(), input.begin() + 1);
    const PreparedWeights prepared = kernel.prepare(weight.data(), packed.data());
    kernel.launch({input.data() + 1, weight.data(), host.bias.data(), host.output.data(), space.data()}, prepared);
    CHECK(host.output == expected);
    CHECK_THROWS_WITH(kernel.prepare(input.data() + 1, packed.data()), contains("weight") && contains("32"));
}

TEST_CASE("addresses that no kernel can use are refused by name") {
    const Fixture fixture;
    Trial trial = stored_trial(small_problem());
    trial.outcome.plan.workspace_bytes = 100;
    fixture.store(trial);
    const Kernel kernel = fixture.open().fetch(small_problem());
    REQUIRE(kernel.rung() == Rung::exact);
    CHECK(kernel.alignment() == 4);
    const auto floats = [](std::int64_t count) { return AlignedFloats(static_cast<std::size_t>(count) + 1); };
    const Problem p = small_problem();
    AlignedFloats x = floats(input_elements(p)), w = floats(weight_elements(p)), b = floats(bias_elements(p)),
                  y = floats(output_elements(p)), space = floats(25);
    const auto past = [](const AlignedFloats& memory, std::size_t bytes) {
        return reinterpret_cast<const char*>(memory.data()) + bytes;
    };
    CHECK_NOTHROW(kernel.launch({x.data(), w.data(), b.data(), y.data(), space.data()}));
    CHECK_THROWS_WITH(kernel.launch({past(x, 2), w.data(), b.data(), y.data(), space.data()}),
                      contains("input") && contains("multiple of 4"));
    CHECK_THROWS_WITH(kernel.launch({x.data(), past(w, 1), b.data(), y.data(), space.data()}), contains("weight"));
    CHECK_THROWS_WITH(kernel.launch({x.data(), w.data(), past(b, 3), y.data(), space.data()}), contains("bias"));
    CHECK_THROWS_WITH(kernel.launch({x.data(), w.data(), b.data(), y.data(), space.data() + 2}),
                      contains("workspace") && contains("multiple of 16"));
}

TEST_CASE("a repeated fetch asks the database no more") {
    const Fixture fixture;
    fixture.store(stored_trial(small_problem()));
    const Runtime runtime = fixture.open();
    REQUIRE(runtime.fetch(small_problem()).rung() == Rung::exact);
    REQUIRE(runtime.fetch(small_problem(7)).rung() == Rung::other_batch);
    CHECK(requests_in(fixture.database) == 1);
    std::ofstream(fixture.database, std::ios::binary | std::ios::trunc) << "gone";
    CHECK(runtime.fetch(small_problem()).rung() == Rung::exact);
    CHECK(runtime.fetch(small_problem(7)).rung() == Rung::other_batch);
}

TEST_CASE("threads fetch and launch from one runtime") {
    const Fixture fixture;
    fixture.store(stored_trial(small_problem(2)));
    const Runtime runtime = fixture.open();
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 4; ++i) {
                const Kernel kernel = runtime.fetch(small_problem(1 + (t + i) % 3));
                HostTensors tensors = random_tensors(kernel.problem(), static_cast<std::uint64_t>(t));
                const std::vector<float> expected = scatter(kernel.problem(), tensors);
                kernel.launch(
                    {tensors.input.data(), tensors.weight.data(), tensors.bias.data(), tensors.output.data(), nullptr});
                if (tensors.output != expected) ++wrong;
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    CHECK(wrong == 0);
}

TEST_CASE("half precision goes the same way") {
    const Fixture fixture;
    fixture.make_database();
    Problem problem = small_problem();
    problem.dtype = DataType::f16;
    const Kernel kernel = fixture.open().fetch(problem);
    // Zero weights leave the bias: 1.5 is 0x3e00.
    std::vector<std::uint16_t> input(static_cast<std::size_t>(input_elements(problem)), 0x4000);
    std::vector<std::uint16_t> weight(static_cast<std::size_t>(weight_elements(problem)), 0);
    std::vector<std::uint16_t> bias(4, 0x3e00);
    std::vector<std::uint16_t> output(static_cast<std::size_t>(output_elements(problem)), 0xffff);
    kernel.launch({input.data(), weight.data(), bias.data(), output.data(), nullptr});
    CHECK(output == std::vector<std::uint16_t>(output.size(), 0x3e00));
}

TEST_CASE("the runtime names its device") {
    const Fixture fixture;
    CHECK_THAT(fixture.open().device(), contains("emulator"));
    CHECK(fixture.open().emulated());
    CHECK(std::string(to_string(Rung::exact)) == "exact");
    CHECK(std::string(to_string(Rung::other_batch)) == "other_batch");
    CHECK(std::string(to_string(Rung::reference)) == "reference");
}
