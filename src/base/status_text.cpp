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

}  // namespace regard::base
