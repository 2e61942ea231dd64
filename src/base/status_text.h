// Words for sentences: shapes, names of types, and the two usual ways a call is refused.
#pragma once

#include <string>

#include "regard/status.h"
#include "regard/tensor.h"

namespace regard::base {

/// "(1, 8, 1024, 64)"
std::string text(const Shape& shape);

/// "0.125", "1e+300", "nan"
std::string text(double number);

inline Status invalid(std::string sentence) {
  return {StatusCode::invalid_argument, std::move(sentence)};
}
inline Status unsupported(std::string sentence) {
  return {StatusCode::unsupported, std::move(sentence)};
}

}  // namespace regard::base
