#include "bench/mode.hpp"

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"

using namespace tconv;

TEST_CASE("every mode is read as it is written") {
    CHECK(all_modes().size() == 5);
    for (const Mode mode : all_modes())
        CHECK(parse_mode(to_string(mode)) == mode);
    CHECK_THROWS_WITH(parse_mode("fp64"), contains("mode (fp64) must be strict, fp32, tf32, fp16 or bf16"));
}

TEST_CASE("TF32 is a mode of f32 tensors with a looser tolerance") {
    CHECK(data_type_of(Mode::tf32) == DataType::f32);
    CHECK(data_type_of(Mode::fp16) == DataType::f16);
    CHECK(data_type_of(Mode::bf16) == DataType::bf16);
    CHECK(data_type_of(Mode::strict) == DataType::f32);
    CHECK(tolerance_of(Mode::strict) == 1e-4);
    CHECK(tolerance_of(Mode::fp32) == 1e-4);
    CHECK(tolerance_of(Mode::tf32) == 1e-2);
    CHECK(tolerance_of(Mode::fp16) == 2e-3);
    CHECK(tolerance_of(Mode::bf16) == 1.6e-2);
}

TEST_CASE("plain fp32 arithmetic is held to in one mode alone") {
    for (const Mode mode : all_modes())
        CHECK(is_strict(mode) == (mode == Mode::strict));
}
