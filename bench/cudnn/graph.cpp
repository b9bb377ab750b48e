#include "bench/cudnn/graph.hpp"

#include <cudnn_graph.h>

namespace tconv::cudnn {
namespace {

constexpr cudnnDataType_t k_arithmetic = CUDNN_DATA_FLOAT;
// Device memory comes in multiples of 256 bytes, and so do the parts of a workspace.
constexpr std::int64_t k_alignment = 16;

cudnnDataType_t data_type(DataType type) {
    switch (type) {
        case DataType::f16:
            return CUDNN_DATA_HALF;
        case DataType::bf16:
            return CUDNN_DATA_BFLOAT16;
        case DataType::f32:
            break;
    }
    return CUDNN_DATA_FLOAT;
}

Descriptor make_tensor(const Library& library, const Tensor& tensor, std::int64_t id, cudnnDataType_t type,
                       bool intermediate = false) {
    Descriptor descriptor(library, CUDNN_BACKEND_TENSOR_DESCRIPTOR, "tensor");
    descriptor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
    descriptor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
    descriptor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, tensor.extents);
    descriptor.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, tensor.strides);
    descriptor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, k_alignment);
    if (intermediate) descriptor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true);
    descriptor.finalize();
    return descriptor;
}

Descriptor make_convolution(const Library& library, const Convolution& convolution) {
    Descriptor descriptor(library, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, "convolution");
    descriptor.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64,
                   static_cast<std::int64_t>(convolution.stride.size()));
    descriptor.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, k_arithmetic);
    descriptor.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
    descriptor.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, convolution.stride);
    descriptor.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, convolution.padding);
    descriptor.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, convolution.padding);
    descriptor.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, convolution.dilation);
    descriptor.finalize();
    return descriptor;
}

Descriptor make_backward_data(const Library& library, const Descriptor& convolution, const Descriptor& input,
                              const Descriptor& weight, const Descriptor& output) {
    Descriptor operation(library, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, "backward data");
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, convolution);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_TYPE_BACKEND_DESCRIPTOR, input);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_TYPE_BACKEND_DESCRIPTOR, weight);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_TYPE_BACKEND_DESCRIPTOR, output);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT, 1.0F);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT, 0.0F);
    operation.finalize();
    return operation;
}

Descriptor make_addition(const Library& library) {
    Descriptor descriptor(library, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, "addition");
    descriptor.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, CUDNN_POINTWISE_ADD);
    descriptor.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, k_arithmetic);
    descriptor.finalize();
    return descriptor;
}

Descriptor make_pointwise(const Library& library, const Descriptor& pointwise, const Descriptor& before,
                          const Descriptor& bias, const Descriptor& after) {
    Descriptor operation(library, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, "addition of the bias");
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, pointwise);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, before);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, bias);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, after);
    operation.finalize();
    return operation;
}

}  // namespace

Graph make_graph(const Library& library, void* handle, const Convolution& convolution, DataType type, bool fused_bias) {
    std::vector<Descriptor> parts;
    parts.reserve(9);
    const auto keep = [&](Descriptor&& part) -> Descriptor& { return parts.emplace_back(std::move(part)); };
    const cudnnDataType_t element = data_type(type);
    std::vector<void*> operations;

    const Descriptor& settings = keep(make_convolution(library, convolution));
    const Descriptor& input = keep(make_tensor(library, convolution.input, k_input, element));
    const Descriptor& weight = keep(make_tensor(library, convolution.weight, k_weight, element));
    const Descriptor& output = keep(make_tensor(library, convolution.output, k_output, element));
    if (fused_bias) {
        // The sum before the bias never reaches memory, so it keeps the precision of the arithmetic.
        const Descriptor& sum = keep(make_tensor(library, convolution.output, k_before_bias, k_arithmetic, true));
        const Descriptor& bias = keep(make_tensor(library, convolution.bias, k_bias, element));
        const Descriptor& addition = keep(make_addition(library));
        operations.push_back(keep(make_backward_data(library, settings, input, weight, sum)).raw());
        operations.push_back(keep(make_pointwise(library, addition, sum, bias, output)).raw());
    } else {
        operations.push_back(keep(make_backward_data(library, settings, input, weight, output)).raw());
    }

    Descriptor graph(library, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, "operation graph");
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, operations);
    if (handle != nullptr) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
    graph.finalize();
    return {std::move(parts), std::move(graph)};
}

}  // namespace tconv::cudnn
