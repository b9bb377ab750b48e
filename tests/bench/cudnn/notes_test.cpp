#include "bench/cudnn/notes.hpp"

#include "tests/catch.hpp"

using namespace tconv;
using cudnn::allowed;
using cudnn::Notes;

TEST_CASE("strict fp32 leaves out tensor cores and everything that rounds to less than fp32") {
    CHECK(allowed({}, DataType::f32, CudnnMath::strict));
    CHECK(allowed({.nondeterministic = true}, DataType::f32, CudnnMath::strict));
    CHECK_FALSE(allowed({.tensor_core = true}, DataType::f32, CudnnMath::strict));
    CHECK_FALSE(allowed({.converts_inputs_down = true}, DataType::f32, CudnnMath::strict));
    CHECK_FALSE(allowed({.reduces_in_low_precision = true}, DataType::f32, CudnnMath::strict));
}

TEST_CASE("TF32 allows tensor cores; inputs keep their range, and sums stay in fp32") {
    CHECK(allowed({.tensor_core = true}, DataType::f32, CudnnMath::tf32));
    CHECK_FALSE(allowed({.tensor_core = true, .converts_inputs_down = true}, DataType::f32, CudnnMath::tf32));
    CHECK_FALSE(allowed({.tensor_core = true, .reduces_in_low_precision = true}, DataType::f32, CudnnMath::tf32));
}

TEST_CASE("16-bit tensors are for tensor cores, sums stay in fp32") {
    for (const DataType type : {DataType::f16, DataType::bf16}) {
        for (const CudnnMath math : {CudnnMath::strict, CudnnMath::tf32}) {
            CHECK(allowed({.tensor_core = true}, type, math));
            CHECK_FALSE(allowed({.reduces_in_low_precision = true}, type, math));
        }
    }
}
