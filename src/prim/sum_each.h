// kLanes vectors summed, each over its lanes, into one.
#pragma once

#include "prim/prim.h"

namespace regard::REGARD_ISA {

/// Lane n of the result is the sum of the lanes of a[n]; the order of the sum does not depend on n.
/// An ISA may have its own for a type.
template <class V, int kCount>
[[gnu::always_inline]] inline V sum_each(V (&a)[kCount]) {
  transpose(a);
#pragma GCC unroll 4
  for (int half = kCount / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (int n = 0; n < half; ++n) a[n] = a[n] + a[n + half];
  }
  return a[0];
}

}  // namespace regard::REGARD_ISA
