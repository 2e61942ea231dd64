// Random q, k and v of one shape.
#pragma once

#include <cstdint>

#include "support/random.h"
#include "support/shapes.h"

namespace regard::test {

template <class T>
struct Inputs {
  TestTensor<T> q, k, v;

  /// The same values in another layout or element type.
  template <class U = T>
  Inputs<U> copy(Layout layout = Layout::bhsd) const {
    return {q.template copy<U>(layout), k.template copy<U>(layout), v.template copy<U>(layout)};
  }
};

template <class T>
Inputs<T> random_inputs(const ProblemShape& shape, std::uint64_t seed,
                        Layout layout = Layout::bhsd) {
  return {normal_tensor<T>(shape.q(), 3 * seed, layout),
          normal_tensor<T>(shape.k(), 3 * seed + 1, layout),
          normal_tensor<T>(shape.v(), 3 * seed + 2, layout)};
}

}  // namespace regard::test
