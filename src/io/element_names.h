// What files call the element types: the one table for reading, writing and sentences.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "regard/tensor.h"

namespace regard::io {

/// '<f8', '<f4' and '<f2' are f64, f32 and f16; '|b1' and '<i8' are boolean and i64. bf16 is '<V2'
/// or '|V2', two bytes of no type, as numpy.save writes the bfloat16 of ml_dtypes, or 'bfloat16'.
std::optional<DType> dtype_of_npy(std::string_view descr);
/// What a .npy file of `dtype` says; empty outside the enumeration.
std::string_view npy_name(DType dtype);

/// "F64", "F32", "F16", "BF16", "BOOL", "I64".
std::optional<DType> dtype_of_safetensors(std::string_view name);

/// All of them, for "none of ...".
std::string npy_names();
std::string safetensors_names();

}  // namespace regard::io
