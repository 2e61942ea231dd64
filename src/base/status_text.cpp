#include "base/status_text.h"

#include <cstdio>

namespace regard::base {

std::string text(const Shape& shape) {
  std::string result = "(";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis > 0) result += ", ";
    result += std::to_string(shape[axis]);
  }
  return result + ")";
}

std::string text(double number) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%g", number);
  return digits;
}

const char* name(DType dtype) noexcept {
  switch (dtype) {
    case DType::f64:
      return "f64";
    case DType::f32:
      return "f32";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
  }
  return "unknown";
}

std::int64_t element_bytes(DType dtype) noexcept {
  switch (dtype) {
    case DType::f64:
      return 8;
    case DType::f32:
      return 4;
    case DType::f16:
    case DType::bf16:
      return 2;
  }
  return 0;
}

}  // namespace regard::base
