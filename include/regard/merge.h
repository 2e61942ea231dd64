// Puts together attention over parts of the keys: split the keys, run `forward` on each part for
// out and lse, and merge. docs/math.md gives the formula.
#pragma once

#include <span>

#include "regard/export.h"
#include "regard/status.h"
#include "regard/tensor.h"

namespace regard {

/// One part's results, computed without sinks: out (B, Hq, Sq, Dv), any float type; lse
/// (B, Hq, Sq, 1), f32 or f64, natural logarithm, -infinity where the part's row is empty.
struct Part {
  ConstTensor out;
  ConstTensor lse;
};

/// out = sum_n e^(lse_n - lse) out_n with e^lse = sum_n e^(lse_n) (+ e^sink), in the order of
/// `parts` and in f64 inside, so that the result depends on nothing else. `sinks` (1, Hq, 1, 1) may
/// be absent; they enter once. `out` is any float type, `lse` f32 or f64; each may be absent. A row
/// that is empty in every part gives 0 and -infinity (with a sink its logit). Outputs may be the
/// memory of a part only where it is the same view. Errors: invalid_argument with a sentence,
/// outputs untouched.
REGARD_API Status merge(std::span<const Part> parts, const ConstTensor& sinks, const Tensor& out,
                        const Tensor& lse) noexcept;

/// log-sum-exp in base 2, as some kernels give it, and back.
constexpr double lse_to_base2(double natural) noexcept {
  return natural * 1.44269504088896340736;
}
constexpr double lse_from_base2(double base2) noexcept {
  return base2 * 0.69314718055994530942;
}

}  // namespace regard
