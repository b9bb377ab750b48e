#include "device/driver/tensor_map.hpp"

#include <cuda.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/error.hpp"
#include "device/driver/driver_library.hpp"

namespace tconv::cuda {

#if CUDA_VERSION >= 12000

namespace {

CUtensorMapDataType type_of(MapElement element) {
    switch (element) {
        case MapElement::f32:
            return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
        case MapElement::tf32:
            return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
        case MapElement::f16:
            return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
        case MapElement::bf16:
            return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
        case MapElement::u8:
            break;
    }
    return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

CUtensorMapSwizzle swizzle_of(std::int64_t bytes) {
    switch (bytes) {
        case 32:
            return CU_TENSOR_MAP_SWIZZLE_32B;
        case 64:
            return CU_TENSOR_MAP_SWIZZLE_64B;
        case 128:
            return CU_TENSOR_MAP_SWIZZLE_128B;
        default:
            return CU_TENSOR_MAP_SWIZZLE_NONE;
    }
}

CUtensorMapL2promotion promotion_of(std::int64_t bytes) {
    switch (bytes) {
        case 64:
            return CU_TENSOR_MAP_L2_PROMOTION_L2_64B;
        case 128:
            return CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
        case 256:
            return CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
        default:
            return CU_TENSOR_MAP_L2_PROMOTION_NONE;
    }
}

}  // namespace

EncodedTensorMap encode_tensor_map(const TensorMap& map, std::int64_t batch, DevicePointer address) {
    // Drivers before 12.0 lack it, and serve everything else.
    static const auto encode = driver_function<decltype(cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
    constexpr std::size_t most = k_most_map_dimensions;
    const std::size_t rank = std::min(map.extents.size(), most);
    std::array<cuuint64_t, most> extents{};
    std::array<cuuint64_t, most> strides{};
    std::array<cuuint32_t, most> box{};
    std::array<cuuint32_t, most> every_element{1, 1, 1, 1, 1};
    for (std::size_t i = 0; i < rank; ++i) {
        extents[i] = static_cast<cuuint64_t>(extent_for(map, i, batch));
        box[i] = static_cast<cuuint32_t>(map.box[i]);
        if (i > 0) strides[i - 1] = static_cast<cuuint64_t>(map.strides[i - 1]);
    }
    CUtensorMap encoded{};
    check(encode(&encoded, type_of(map.element), static_cast<cuuint32_t>(rank), reinterpret_cast<void*>(address),
                 extents.data(), strides.data(), box.data(), every_element.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
                 swizzle_of(map.swizzle), promotion_of(map.l2_promotion), CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
          "cuTensorMapEncodeTiled");
    EncodedTensorMap result;
    static_assert(sizeof encoded == sizeof result);
    std::memcpy(result.bytes.data(), &encoded, sizeof encoded);
    return result;
}

#else

EncodedTensorMap encode_tensor_map(const TensorMap&, std::int64_t, DevicePointer) {
    throw Error(ErrorKind::unavailable,
                "This build knows no tensor maps: it was made with the headers of a CUDA before 12.0.");
}

#endif

}  // namespace tconv::cuda
