// Whether elements of strided views share memory, decided exactly.
#pragma once

#include "regard/tensor.h"

namespace regard::problem {

/// Two different indices of one view reach a common byte.
bool overlaps_itself(const ConstTensor& tensor);

/// Some element of a and some element of b share a byte.
bool overlap(const ConstTensor& a, const ConstTensor& b);

}  // namespace regard::problem
