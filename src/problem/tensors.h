// Checks of one tensor of a call, each an ok Status or a sentence that opens with the tensor's
// name.
#pragma once

#include "regard/status.h"
#include "regard/tensor.h"

namespace regard::problem {

/// Sizes, number of elements and reach of the strides stay inside what the kernels can count.
Status check_axes(const char* name, const ConstTensor& tensor);

Status check_shape(const char* name, const Shape& shape, const Shape& wanted);

Status check_float(const char* name, DType dtype);

/// Pointers of non-empty tensors: given, and aligned to their element.
Status check_pointer(const char* name, const ConstTensor& tensor);

/// Every axis of `tensor` is 1 or that of `wanted`; leaves in `tensor` the view of shape `wanted`,
/// with strides 0 along the axes that repeat.
Status broadcast(const char* name, const Shape& wanted, ConstTensor& tensor);

/// Checks a tensor that holds a result: shape, a float type, strides, pointer and alignment.
Status check_result(const char* name, const ConstTensor& tensor, const Shape& shape);

}  // namespace regard::problem
