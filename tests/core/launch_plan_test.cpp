#include "core/launch_plan.hpp"

#include <functional>
#include <limits>
#include <utility>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"

using namespace tconv;

namespace {

LaunchPlan sample_plan() {
    Launch pack;
    pack.kernel = "pack";
    pack.grid = {7, 1, 1};
    pack.block = {64, 1, 1};
    pack.batch_axis = -1;
    pack.weights_only = true;
    pack.arguments = {{ArgumentKind::weight, 0, {}}, {ArgumentKind::packed_weight, 128, {}}};
    Launch main;
    main.kernel = "main";
    main.grid = {10, 3, 2};
    main.block = {32, 4, 2};
    main.shared_bytes = 1024;
    main.overlaps = true;
    main.cluster = 2;
    main.arguments = {{ArgumentKind::input, 0, {}},
                      {ArgumentKind::bias, 0, {}},
                      {ArgumentKind::packed_weight, 0, {}},
                      {ArgumentKind::workspace, 128, {}},
                      {ArgumentKind::output, 0, {}},
                      {ArgumentKind::batch, 0, {}},
                      {ArgumentKind::values, 0, {1, -2, std::int64_t{1} << 40}}};
    LaunchPlan plan;
    plan.source_file = "direct.cu";
    plan.constants = {{"row_pitch", 36}};
    plan.launches = {pack, main};
    plan.workspace_bytes = 256;
    plan.workspace_bytes_per_batch = 64;
    plan.packed_weight_bytes = 200;
    plan.alignment = 8;
    return plan;
}

std::string refusal(const std::function<void(LaunchPlan&)>& change, std::int64_t batch = 2) {
    LaunchPlan plan = sample_plan();
    change(plan);
    Problem problem;
    problem.batch = batch;
    try {
        check_plan(plan, problem, DeviceInfo{});
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

}  // namespace

TEST_CASE("a launch overlaps the one before it, on devices that can") {
    const LaunchPlan plan = sample_plan();
    DeviceInfo device;
    device.kind = DeviceKind::cuda;
    device.compute_major = 9;
    CHECK_NOTHROW(check_plan(plan, {}, device));
    CHECK_THAT(refusal([](LaunchPlan& p) { p.launches[0].overlaps = true; }), contains("there is none before it"));
    device.compute_major = 8;
    device.compute_minor = 6;
    CHECK_THROWS_WITH(check_plan(plan, {}, device), contains("needs compute capability 9.0, not 8.6"));
}

TEST_CASE("blocks form clusters that divide the grid, on devices that can") {
    DeviceInfo device;
    device.kind = DeviceKind::cuda;
    device.compute_major = 8;
    device.compute_minor = 9;
    LaunchPlan plan = sample_plan();
    plan.launches[1].overlaps = false;
    CHECK_THROWS_WITH(check_plan(plan, {}, device), contains("clusters of main need compute capability 9.0"));
    plan.launches[1].cluster = 1;
    CHECK_NOTHROW(check_plan(plan, {}, device));
    for (const std::int64_t cluster : {-2, 0, 9, 10})
        CHECK_THAT(refusal([&](LaunchPlan& p) { p.launches[1].cluster = cluster; }), contains("must be 1 to 8"));
    CHECK_THAT(refusal([](LaunchPlan& p) { p.launches[1].cluster = 4; }),
               contains("grid x of main (10) must be a multiple of its cluster (4)"));
    CHECK(refusal([](LaunchPlan& p) { p.launches[1].cluster = 5; }).empty());
}

TEST_CASE("a plan stored without clusters has blocks by themselves") {
    LaunchPlan alone = sample_plan();
    alone.launches[1].cluster = 1;
    std::string older = to_json(sample_plan());
    const std::string entry = "\"cluster\":2,";
    REQUIRE(older.find(entry) != std::string::npos);
    older.erase(older.find(entry), entry.size());
    CHECK(launch_plan_from_json(older) == alone);
}

TEST_CASE("a plan survives its text") {
    CHECK(launch_plan_from_json(to_json(sample_plan())) == sample_plan());
}

TEST_CASE("a plan stored without an alignment asks for that of the widest access") {
    std::string older = to_json(sample_plan());
    const std::string entry = "\"alignment\":8,";
    REQUIRE(older.find(entry) != std::string::npos);
    older.erase(older.find(entry), entry.size());
    CHECK(launch_plan_from_json(older).alignment == 16);
}

TEST_CASE("a plan says whether sums of integers come out exact, and one stored without a word on it that they do") {
    LaunchPlan transforming = sample_plan();
    transforming.exact_on_integers = false;
    CHECK(launch_plan_from_json(to_json(transforming)) == transforming);
    std::string older = to_json(transforming);
    const std::string entry = "\"exact_on_integers\":false,";
    REQUIRE(older.find(entry) != std::string::npos);
    older.erase(older.find(entry), entry.size());
    CHECK(launch_plan_from_json(older) == sample_plan());
}

TEST_CASE("a plan stored without batch tiles covers one batch entry at a time") {
    LaunchPlan tiled = sample_plan();
    tiled.launches[1].batch_tile = 4;
    CHECK(launch_plan_from_json(to_json(tiled)) == tiled);
    std::string older = to_json(tiled);
    const std::string entry = "\"batch_tile\":4,";
    REQUIRE(older.find(entry) != std::string::npos);
    older.erase(older.find(entry), entry.size());
    CHECK(launch_plan_from_json(older) == sample_plan());
}

TEST_CASE("a workspace for a part of the batch grows by whole parts") {
    LaunchPlan plan = sample_plan();
    plan.workspace_bytes = 100;
    plan.workspace_bytes_per_batch = 40;
    plan.workspace_batch_tile = 4;
    CHECK(workspace_for(plan, 1) == 140);
    CHECK(workspace_for(plan, 4) == 140);
    CHECK(workspace_for(plan, 5) == 180);
    CHECK(launch_plan_from_json(to_json(plan)) == plan);
    CHECK_THAT(refusal([](LaunchPlan& p) { p.workspace_batch_tile = 0; }),
               contains("workspace_batch_tile (0) must be at least 1"));
}

TEST_CASE("malformed plans are refused") {
    const std::string good = to_json(sample_plan());
    CHECK_THROWS_AS(launch_plan_from_json(""), Error);
    CHECK_THROWS_AS(launch_plan_from_json("[]"), Error);
    CHECK_THROWS_AS(launch_plan_from_json("{}"), Error);
    for (std::size_t length = 0; length < good.size(); length += 7) {
        CHECK_THROWS_AS(launch_plan_from_json(good.substr(0, length)), Error);
    }
    std::string unknown = good;
    unknown.replace(unknown.find("\"weight\""), 8, "\"secret\"");
    CHECK_THROWS_AS(launch_plan_from_json(unknown), Error);
}

TEST_CASE("a plan is checked before it is launched") {
    CHECK(refusal([](LaunchPlan&) {}).empty());
    CHECK(!refusal([](LaunchPlan& p) { p.launches.clear(); }).empty());
    CHECK(!refusal([](LaunchPlan& p) { p.launches[1].grid[0] = 0; }).empty());
    CHECK(!refusal([](LaunchPlan& p) { p.launches[1].grid[1] = 65536; }).empty());
    CHECK(!refusal([](LaunchPlan& p) { p.launches[1].grid[0] = std::int64_t{1} << 31; }).empty());
    CHECK(!refusal([](LaunchPlan& p) { p.launches[1].grid[0] = 1 << 30; }, 2).empty());
    CHECK(!refusal(
               [](LaunchPlan& p) {
                   p.launches[1].batch_axis = 1;
                   p.launches[1].grid[1] = 30000;
               },
               3)
               .empty());
    CHECK(!refusal([](LaunchPlan& p) { p.launches[1].batch_axis = 3; }).empty());
    for (const std::int64_t tile : {-1, 0, 65537})
        CHECK(!refusal([&](LaunchPlan& p) { p.launches[1].batch_tile = tile; }).empty());
    CHECK(refusal([](LaunchPlan& p) { p.launches[1].batch_tile = 65536; }).empty());
    CHECK(!refusal([](LaunchPlan& p) { p.launches[0].batch_tile = 2; }).empty());  // its grid knows no batch
    const auto tall = [](LaunchPlan& p) {
        p.launches[1].batch_axis = 1;
        p.launches[1].grid[1] = 30000;
        p.launches[1].batch_tile = 2;
    };
    CHECK(refusal(tall, 4).empty());
    CHECK(!refusal(tall, 5).empty());
    CHECK(!refusal([](LaunchPlan& p) { p.launches[1].block = {1024, 2, 1}; }).empty());
    CHECK(!refusal([](LaunchPlan& p) { p.launches[1].block[2] = 65; }).empty());
    CHECK(!refusal([](LaunchPlan& p) { p.launches[1].shared_bytes = 49153; }).empty());
    CHECK(!refusal([](LaunchPlan& p) { p.launches[1].shared_bytes = -1; }).empty());
    CHECK(!refusal([](LaunchPlan& p) { p.workspace_bytes = std::int64_t{1} << 31; }).empty());
    CHECK(!refusal([](LaunchPlan& p) { p.workspace_bytes_per_batch = std::int64_t{1} << 62; }, 100).empty());
    CHECK(!refusal([](LaunchPlan& p) { p.launches[1].arguments[3].offset = 384; }).empty());
    CHECK(refusal([](LaunchPlan& p) { p.launches[1].arguments[3].offset = 383; }).empty());
    CHECK(!refusal([](LaunchPlan& p) { p.launches[1].arguments[4].kind = ArgumentKind::input; }).empty());
    CHECK(!refusal([](LaunchPlan& p) { p.launches[1].arguments[6].values.assign(257, 0); }).empty());
    CHECK(!refusal([](LaunchPlan& p) { p.launches[1].arguments.clear(); }).empty());
    for (const std::int64_t alignment : {-16, 0, 1, 2, 12, 512})
        CHECK(!refusal([&](LaunchPlan& p) { p.alignment = alignment; }).empty());
    for (const std::int64_t alignment : {4, 8, 16, 256})
        CHECK(refusal([&](LaunchPlan& p) { p.alignment = alignment; }).empty());
}

TEST_CASE("the grid and the workspace grow with the batch of the call") {
    const LaunchPlan plan = sample_plan();
    CHECK(grid_for(plan.launches[0], 5) == std::array<std::int64_t, 3>{7, 1, 1});
    CHECK(grid_for(plan.launches[1], 5) == std::array<std::int64_t, 3>{50, 3, 2});
    CHECK(workspace_for(plan, 5) == 256 + 5 * 64);
}

TEST_CASE("packed weights are made by launches that depend on the weight alone, before their use") {
    CHECK(!refusal([](LaunchPlan& p) { p.launches[0].arguments[1].offset = 200; }).empty());
    CHECK(refusal([](LaunchPlan& p) { p.launches[0].arguments[1].offset = 199; }).empty());
    CHECK(!refusal([](LaunchPlan& p) { p.launches[1].arguments[2].offset = -1; }).empty());
    CHECK(!refusal([](LaunchPlan& p) { p.packed_weight_bytes = -1; }).empty());
    CHECK(!refusal([](LaunchPlan& p) { p.packed_weight_bytes = std::int64_t{1} << 30; }).empty());  // and a workspace
    CHECK(!refusal([](LaunchPlan& p) { p.packed_weight_bytes = std::numeric_limits<std::int64_t>::max(); }).empty());
    for (const ArgumentKind kind :
         {ArgumentKind::input, ArgumentKind::bias, ArgumentKind::output, ArgumentKind::workspace, ArgumentKind::batch})
        CHECK(!refusal([&](LaunchPlan& p) { p.launches[0].arguments.push_back({kind, 0, {}}); }).empty());
    CHECK(refusal([](LaunchPlan& p) { p.launches[0].arguments.push_back({ArgumentKind::values, 0, {1}}); }).empty());
    CHECK(!refusal([](LaunchPlan& p) { p.launches[0].batch_axis = 0; }).empty());
    CHECK(!refusal([](LaunchPlan& p) { p.launches[0].arguments.pop_back(); }).empty());
    CHECK(!refusal([](LaunchPlan& p) { p.launches[0].weights_only = false; }).empty());
    CHECK(!refusal([](LaunchPlan& p) { std::swap(p.launches[0], p.launches[1]); }).empty());
    CHECK(!refusal([](LaunchPlan& p) { p.launches.push_back(p.launches[0]); }).empty());
    CHECK(refusal([](LaunchPlan& p) { p.launches.insert(p.launches.begin(), p.launches[0]); }).empty());
}

namespace {

/// The sample plan with an input of 8 x 16 floats an entry that the main launch maps.
LaunchPlan mapping_plan() {
    LaunchPlan plan = sample_plan();
    plan.alignment = 16;
    Argument map;
    map.kind = ArgumentKind::tensor_map;
    map.mapped = ArgumentKind::input;
    map.offset = 64;
    map.map = {MapElement::tf32, {16, 7}, {64}, {8, 2}, 32, -1, 64};
    plan.launches[1].arguments[0] = map;
    return plan;
}

std::string refusal_of_map(const std::function<void(LaunchPlan&, Argument&)>& change, DeviceInfo device = {}) {
    LaunchPlan plan = mapping_plan();
    change(plan, plan.launches[1].arguments[0]);
    Problem problem;
    problem.batch = 2;
    problem.in_channels = 1;
    problem.input = {1, 8, 16};
    problem.kernel = {1, 1, 1};
    try {
        check_plan(plan, problem, device);
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

}  // namespace

TEST_CASE("a tensor map survives the plan's text") {
    CHECK(launch_plan_from_json(to_json(mapping_plan())) == mapping_plan());
    std::string text = to_json(mapping_plan());
    text.replace(text.find("\"tf32\""), 6, "\"f128\"");
    CHECK_THROWS_AS(launch_plan_from_json(text), Error);
}

TEST_CASE("a tensor map is checked with its plan") {
    CHECK(refusal_of_map([](LaunchPlan&, Argument&) {}).empty());
    CHECK(!refusal_of_map([](LaunchPlan&, Argument& a) { a.offset = 128; }).empty());
    CHECK(!refusal_of_map([](LaunchPlan&, Argument& a) { a.map.extents[1] = 15; }).empty());
    CHECK(refusal_of_map([](LaunchPlan&, Argument& a) {
              a.offset = 0;
              a.map.extents[1] = 8;
              a.map.batch_dimension = 1;
          }).empty());
    CHECK(!refusal_of_map([](LaunchPlan& p, Argument&) { p.alignment = 8; }).empty());
    for (const ArgumentKind kind :
         {ArgumentKind::bias, ArgumentKind::batch, ArgumentKind::values, ArgumentKind::tensor_map})
        CHECK(!refusal_of_map([&](LaunchPlan&, Argument& a) { a.mapped = kind; }).empty());
    // 256 bytes and 64 an entry of workspace, 200 of packed weights.
    const auto mapped = [](ArgumentKind kind, std::int64_t rows, std::int64_t offset) {
        return refusal_of_map([&](LaunchPlan&, Argument& a) {
            a.mapped = kind;
            a.map.extents[1] = rows;
            a.offset = offset;
        });
    };
    CHECK(mapped(ArgumentKind::workspace, 5, 0).empty());
    CHECK(!mapped(ArgumentKind::workspace, 6, 0).empty());
    CHECK(mapped(ArgumentKind::packed_weight, 2, 64).empty());
    CHECK(!mapped(ArgumentKind::packed_weight, 2, 80).empty());
    CHECK(!refusal_of_map([](LaunchPlan& p, Argument& a) {
               p.launches[1].arguments.insert(p.launches[1].arguments.end(), 8, Argument(a));
           }).empty());
    CHECK(!refusal_of_map(
               [](LaunchPlan&, Argument& a) {
                   a.map.box = {8, 256}, a.map.extents[0] = 16;
               },
               [] {
                   DeviceInfo small;
                   small.shared_memory_per_block = 8191;
                   return small;
               }())
               .empty());
    DeviceInfo device;
    device.kind = DeviceKind::cuda;
    device.name = "NVIDIA A100";
    device.compute_major = 8;
    CHECK(refusal_of_map([](LaunchPlan&, Argument&) {}, device).find("compute capability 9.0") != std::string::npos);
    device.compute_major = 9;
    CHECK(refusal_of_map([](LaunchPlan&, Argument&) {}, device).empty());
}

TEST_CASE("a weights_only launch maps the weight and what it makes of it alone") {
    const auto map_in_pack = [](ArgumentKind kind, int batch_dimension) {
        return refusal_of_map([&](LaunchPlan& p, Argument&) {
            Argument map = mapping_plan().launches[1].arguments[0];
            map.mapped = kind;
            map.offset = 0;
            map.map = {MapElement::u8, {64, 1}, {64}, {16, 1}, 0, batch_dimension, 0};
            p.launches[0].arguments.push_back(map);
        });
    };
    CHECK(map_in_pack(ArgumentKind::packed_weight, -1).empty());
    CHECK(!map_in_pack(ArgumentKind::packed_weight, 1).empty());
    CHECK(!map_in_pack(ArgumentKind::input, -1).empty());
    CHECK(!map_in_pack(ArgumentKind::workspace, -1).empty());
}

TEST_CASE("a plan with a tensor map serves the batches that fit its extents") {
    LaunchPlan plan = mapping_plan();
    plan.launches[1].batch_axis = -1;
    CHECK(serves_batch(plan, std::int64_t{1} << 40));
    plan.launches[1].arguments[0].map.batch_dimension = 1;
    CHECK(serves_batch(plan, 613566756));
    CHECK_FALSE(serves_batch(plan, 613566757));
}

TEST_CASE("a grid holds a block for each tile of batch entries, the ragged one too") {
    Launch launch = sample_plan().launches[1];
    for (const std::int64_t tile : {1, 2, 3, 8}) {
        launch.batch_tile = tile;
        for (std::int64_t batch = 1; batch < 20; ++batch) {
            const std::int64_t tiles = grid_for(launch, batch)[0] / 10;
            CHECK(grid_for(launch, batch)[0] % 10 == 0);
            CHECK(tiles * tile >= batch);
            CHECK((tiles - 1) * tile < batch);
        }
    }
}

TEST_CASE("a plan serves the batches that its grids can hold") {
    LaunchPlan plan = sample_plan();
    CHECK(serves_batch(plan, 214748364));
    CHECK_FALSE(serves_batch(plan, 214748365));
    plan.launches[1].batch_axis = 1;
    CHECK(serves_batch(plan, 21845));
    CHECK_FALSE(serves_batch(plan, 21846));
    plan.launches[1].batch_tile = 4;
    CHECK(serves_batch(plan, 4 * 21845));
    CHECK_FALSE(serves_batch(plan, 4 * 21845 + 1));
    plan.launches[1].batch_axis = -1;
    CHECK(serves_batch(plan, std::int64_t{1} << 40));
}

TEST_CASE("a workspace is aligned as the plan asks, and to 16 bytes at least") {
    LaunchPlan plan = sample_plan();
    CHECK(workspace_alignment(plan) == 16);
    plan.alignment = 128;
    CHECK(workspace_alignment(plan) == 128);
}
