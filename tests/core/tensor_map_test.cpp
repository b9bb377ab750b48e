#include "core/tensor_map.hpp"

#include <functional>
#include <limits>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"

using namespace tconv;

namespace {

/// 3 arrays a batch entry of 5 rows of 20 floats, in rows of 96 bytes; boxes of 8 x 2 x 2.
TensorMap sample_map() {
    return {MapElement::f32, {20, 5, 3}, {96, 480}, {8, 2, 2}, 32, 2, 256};
}

constexpr std::int64_t k_entry_bytes = 3 * 480;

std::string refusal(const std::function<void(TensorMap&)>& change, std::int64_t offset = 0,
                    const MappedMemory& memory = {0, k_entry_bytes}, std::int64_t batch = 4) {
    TensorMap map = sample_map();
    change(map);
    try {
        check_tensor_map(map, offset, memory, batch, "k");
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::bad_input);
        return error.what();
    }
    return {};
}

const auto k_as_it_is = [](TensorMap&) {};

}  // namespace

TEST_CASE("elements have names and sizes") {
    for (const MapElement element :
         {MapElement::f32, MapElement::tf32, MapElement::f16, MapElement::bf16, MapElement::u8})
        CHECK(parse_map_element(to_string(element)) == element);
    CHECK(size_of(MapElement::tf32) == 4);
    CHECK(size_of(MapElement::bf16) == 2);
    CHECK(size_of(MapElement::u8) == 1);
    CHECK_THROWS_WITH(parse_map_element("f64"), contains("element (f64)"));
}

TEST_CASE("the batch multiplies its dimension") {
    CHECK(for_batch(sample_map(), 7).extents == std::vector<std::int64_t>{20, 5, 21});
    CHECK(extent_for(sample_map(), 2, 7) == 21);
    CHECK(extent_for(sample_map(), 1, 7) == 5);
    TensorMap fixed = sample_map();
    fixed.batch_dimension = -1;
    CHECK(for_batch(fixed, 7).extents == fixed.extents);
    CHECK(map_serves_batch(sample_map(), 1431655765));
    CHECK_FALSE(map_serves_batch(sample_map(), 1431655766));
    CHECK(map_serves_batch(fixed, std::int64_t{1} << 40));
}

TEST_CASE("a map spans from its first element to its last") {
    CHECK(span_bytes(sample_map()) == 2 * 480 + 4 * 96 + 80);
    CHECK(span_bytes(for_batch(sample_map(), 2)) == 5 * 480 + 4 * 96 + 80);
    CHECK(box_bytes(sample_map()) == 4 * 8 * 2 * 2);
}

TEST_CASE("a map obeys the rules of the hardware") {
    CHECK(refusal(k_as_it_is).empty());
    CHECK_THAT(refusal([](TensorMap& m) { m.extents.clear(); }), contains("dimensions (0) must be 1 to 5"));
    CHECK_THAT(refusal([](TensorMap& m) { m.extents.resize(6, 1); }), contains("dimensions (6)"));
    CHECK_THAT(refusal([](TensorMap& m) { m.box.pop_back(); }), contains("box (2 extents)"));
    CHECK_THAT(refusal([](TensorMap& m) { m.strides.pop_back(); }), contains("strides (1)"));
    CHECK_THAT(refusal([](TensorMap& m) { m.batch_dimension = 3; }), contains("batch_dimension (3)"));
    CHECK_THAT(refusal([](TensorMap& m) { m.batch_dimension = -2; }), contains("batch_dimension (-2)"));
    CHECK_THAT(refusal([](TensorMap& m) { m.extents[1] = 0; }), contains("extent 1 (0)"));
    CHECK_THAT(refusal([](TensorMap& m) { m.extents[0] = std::int64_t{1} << 32; }), contains("extent 0"));
    CHECK_THAT(refusal([](TensorMap& m) { m.extents[2] = std::int64_t{1} << 30; }),
               contains("must be 1 to 1073741823"));
    CHECK_THAT(refusal([](TensorMap& m) { m.box[1] = 257; }), contains("box extent 1 (257)"));
    CHECK_THAT(refusal([](TensorMap& m) { m.box[2] = 0; }), contains("box extent 2 (0)"));
    for (const std::int64_t stride : {std::int64_t{-16}, std::int64_t{0}, std::int64_t{88}, std::int64_t{1} << 40})
        CHECK_THAT(refusal([&](TensorMap& m) { m.strides[0] = stride; }), contains("stride of dimension 1"));
    CHECK_THAT(refusal([](TensorMap& m) { m.box[0] = 6; }), contains("(24 bytes) must be a multiple of 16"));
    CHECK_THAT(refusal([](TensorMap& m) { m.swizzle = 16; }), contains("swizzle (16)"));
    CHECK_THAT(refusal([](TensorMap& m) { m.swizzle = 64; }), contains("(32 bytes) must be the swizzle of 64 bytes"));
    CHECK_THAT(refusal([](TensorMap& m) { m.box[0] = 16; }), contains("(64 bytes) must be the swizzle of 32 bytes"));
    CHECK(refusal([](TensorMap& m) {
              m.box[0] = 16;
              m.swizzle = 0;
          }).empty());
    CHECK_THAT(refusal([](TensorMap& m) { m.l2_promotion = 32; }), contains("l2_promotion (32)"));
    CHECK_THAT(refusal(k_as_it_is, 8), contains("offset (8 bytes) must be a multiple of 16"));
    CHECK_THAT(refusal(k_as_it_is, -16), contains("offset"));
}

TEST_CASE("a map lies inside its memory whatever the batch") {
    CHECK(refusal(k_as_it_is, 16).empty());  // the last row's padding is not the map's
    CHECK(!refusal(k_as_it_is, 32).empty());
    CHECK(!refusal(k_as_it_is, 0, {0, k_entry_bytes - 16}).empty());
    // Enough for the batch at hand, too little for a larger one.
    CHECK_THAT(refusal(k_as_it_is, 0, {0, k_entry_bytes - 16}, 1), contains("must not grow by more than"));
    CHECK_THAT(refusal(k_as_it_is, 0, {4 * k_entry_bytes, 0}, 4), contains("must not grow by more than the 0 bytes"));
    CHECK(refusal([](TensorMap& m) { m.batch_dimension = -1; }, 0, {k_entry_bytes, 0}).empty());
    CHECK(refusal(k_as_it_is, 16, {16, k_entry_bytes}).empty());
    CHECK_THAT(refusal([](TensorMap& m) { m = {MapElement::f16, {8}, {}, {8}, 0, 0, 0}; }, 0, {2, 14}),
               contains("(16 bytes)"));
    CHECK(!refusal([](TensorMap& m) { m.extents[1] = 6; }, 0, {0, k_entry_bytes}, 1).empty());
    // Numbers whose products leave 64 bits.
    CHECK_THAT(
        refusal(
            [](TensorMap& m) {
                m.batch_dimension = -1;
                m.extents = {4, std::numeric_limits<std::uint32_t>::max(), std::numeric_limits<std::uint32_t>::max()};
                m.strides = {(std::int64_t{1} << 40) - 16, (std::int64_t{1} << 40) - 16};
            },
            0, {std::numeric_limits<std::int64_t>::max(), 0}, 1),
        contains("must end within"));
}
