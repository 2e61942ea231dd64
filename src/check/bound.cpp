// The constants of |error_d| <= u (c0 + c1 A + c2 S) sum_j p_j |v_jd| + floor (n + sum_j |v_jd|),
// with u the unit roundoff and, over the n keys j that the row sees, A = max_j |scale| sum_d |q_d
// k_jd| and S = max_j |scale| |sum_d q_d k_jd|.
//
// A relative error e in a weight and the same e in their sum both reach the quotient, so what a
// weight suffers counts twice. What it suffers, in units of u:
//   dot product  sqrt(D) A + D/2 S  D additions, each rounding its partial sum. The partial sums
//                                   rise evenly to the score, D/2 S in all, and equal terms round
//                                   in one direction; around that line they stray by less than A,
//                                   with roundings that are independent
//   score        4 A                2 for folding scale and log2 e into one factor and applying
//                                   it; 2 for subtracting the reference, as large as A itself
//   exponential  3                  argument reduction, polynomial and its last rounding
// The sums over n keys are taken in blocks of 192 keys, the blocks then added up: at most
// min(n, 192) + n / 192 roundings of a partial sum, whatever the terms; those of l, by tiles first,
// min(n, 64) + n / 192. The division and the rounding of the result add 1 each:
//   c0 = 2 * 3 + 2 + min(n, 192) + min(n, 64) + 2 n / 192
//   c1 = 2 (sqrt(D) + 4)
//   c2 = D
// A kernel that adds thousands of equal f32 terms one after another leaves the bound, and should:
// it loses those digits.
// An f64 result is judged by an f64 oracle, whose own error is of the same size:
//   c1 += 4   the subtraction |s_j - m| <= 2A, rounded once, in weight and sum
//   c0 += 4   exponential in weight and sum, division, product p v (its sums are compensated)
// Kernels flush what is below the smallest normal number to zero: a weight, which then misses its
// v, and a partial sum, at each of n keys. The floor is that number; it counts n + sum_j |v_jd|
// times. The LSE suffers what one weight and l suffer, half of the constants, and its own
// rounding.
#include <algorithm>
#include <cmath>
#include <limits>

#include "regard/check.h"

namespace regard {

ErrorBound error_bound(DType dtype, std::int64_t head_dim, std::int64_t visible) noexcept {
  ErrorBound bound;
  const double n = double(visible);
  bound.c0 = 2 * 3 + 2 + std::min(n, 192.0) + std::min(n, 64.0) + 2 * n / 192;
  bound.c1 = 2 * (std::sqrt(double(head_dim)) + 4);
  bound.c2 = double(head_dim);
  switch (dtype) {
    case DType::f32:
      bound.epsilon = std::numeric_limits<float>::epsilon() / 2;
      bound.floor = std::numeric_limits<float>::min();
      return bound;
    case DType::f64:
      bound.epsilon = std::numeric_limits<double>::epsilon() / 2;
      bound.floor = std::numeric_limits<double>::min();
      bound.c1 += 4;
      bound.c0 += 4;
      return bound;
    case DType::f16:
    case DType::bf16:
      break;
  }
  return {};
}

}  // namespace regard
