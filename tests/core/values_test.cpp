#include "core/config.hpp"
#include "core/data_type.hpp"
#include "core/device_info.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/outcome.hpp"
#include "tests/catch.hpp"

using namespace tconv;

TEST_CASE("a config is stored by name and value") {
    const Config config{{"tile_w", 32}, {"block_size", 128}, {"skew", -1}};
    CHECK(to_json(config) == R"({"block_size":128,"skew":-1,"tile_w":32})");
    CHECK(config_from_json(to_json(config)) == config);
    CHECK(to_string(config) == "block_size=128 skew=-1 tile_w=32");
    for (const char* text :
         {"", "[]", "{\"a\":1.5}", "{\"a\":\"x\"}", "{\"a\":{}}", "{", "{\"a\":18446744073709551615}"}) {
        INFO(text);
        CHECK_THROWS_AS(config_from_json(text), Error);
    }
}

TEST_CASE("names of types, layouts and outcomes are read back") {
    for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16})
        CHECK(parse_data_type(to_string(type)) == type);
    for (const Layout layout : {Layout::nchw, Layout::nhwc})
        CHECK(parse_layout(to_string(layout)) == layout);
    for (int i = 0; i <= static_cast<int>(OutcomeKind::crashed); ++i) {
        const auto kind = static_cast<OutcomeKind>(i);
        CHECK(parse_outcome_kind(to_string(kind)) == kind);
    }
    CHECK_THROWS_AS(parse_data_type("float"), Error);
    CHECK_THROWS_AS(parse_layout("NCHW"), Error);
    CHECK_THROWS_AS(parse_outcome_kind("fine"), Error);
}

TEST_CASE("the device key does not depend on driver or memory") {
    DeviceInfo a;
    a.name = "NVIDIA H200";
    a.compute_major = 9;
    a.multiprocessors = 132;
    DeviceInfo b = a;
    b.driver_version = "13.1";
    b.memory_bytes = 1;
    CHECK(device_key(a) == "NVIDIA H200, cc 9.0, 132 multiprocessors");
    CHECK(device_key(a) == device_key(b));
    b.multiprocessors = 114;
    CHECK(device_key(a) != device_key(b));
}

TEST_CASE("the content hash is XXH3-128") {
    // From the xxHash specification's sanity vectors: the empty input.
    CHECK(content_hash("") == "99aa06d3014798d86001c324468d497f");
    CHECK(content_hash("a") != content_hash("b"));
}
