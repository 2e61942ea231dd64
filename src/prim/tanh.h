// tanh for vectors, accurate relatively also near 0: within 3 ulp in f32 (measured 2.62), 5 in f64
// (4.74; there g(0) of exp2, which is made for 1 + f g(f), is 2.7 ulp off). With e = exp(2|x|) - 1
// it is e / (e + 2), and e comes from the polynomial of exp2 without its 1: 2^n f g(f) + (2^n - 1)
// has no cancellation, since n >= 0. 2|x| log2(e) = n + f carries the part that its rounding loses.
// An infinite x gives 1 or -1, NaN gives NaN.
#pragma once

#include "prim/exp2.h"

namespace regard::REGARD_ISA {

template <class T>
[[gnu::always_inline]] inline typename Simd<T>::Vector tanh(typename Simd<T>::Vector x) {
  constexpr T kLargest = sizeof(T) == 4 ? 10 : 20;  // from here on 1 - tanh is below half an ulp
  constexpr T kTwoLog2E = T(2.88539008177792681472);
  // 2 log2(e) - kTwoLog2E
  constexpr T kRest = sizeof(T) == 4 ? T(3.851925982253235e-08) : T(4.0710547481862066e-17);
  const auto a = minimum(broadcast(kLargest), magnitude(x));
  const auto y = a * broadcast(kTwoLog2E);
  const auto rest = fma(a, broadcast(kRest), fma(a, broadcast(kTwoLog2E), broadcast(T(0)) - y));
  const auto n = round_to_integer(y);
  const auto f = (y - n) + rest;
  const auto power = times_power_of_two(broadcast(T(1)), n);
  const auto e = fma(power, exp2_slope<T>(f) * f, power - broadcast(T(1)));
  const auto r = e / (e + broadcast(T(2)));
  return select(greater(broadcast(T(0)), x), broadcast(T(0)) - r, r);
}

}  // namespace regard::REGARD_ISA
