// Attention over parts of the keys, put together: split the keys, run `forward` on each part
// without sinks for out and lse, and merge. docs/numerics.md bounds what that costs.
#pragma once

#include <limits>
#include <span>

#include "regard/export.h"
#include "regard/status.h"
#include "regard/tensor.h"

namespace regard {

/// One part's results, computed without sinks.
struct Part {
  ConstTensor out;  ///< (B, Hq, Sq, Dv), any float type; not looked at where no `out` is wanted
  ConstTensor lse;  ///< (B, Hq, Sq, 1), f32 or f64, natural logarithm; -infinity: an empty row
};

/// Writes, with e^lse = sum_n e^(lse_n) + e^sink,
///   lse   (B, Hq, Sq, 1), f32 or f64
///   out   (B, Hq, Sq, Dv), any float type: sum_n e^(lse_n - lse) out_n
/// in f64 inside and in the order of `parts`, so that a row's bits depend on its own numbers and
/// that order alone. Either may be absent. `sinks` (1, Hq, 1, 1), any float type, one logit a query
/// head, may be absent; they enter once, here, with value 0, and -infinity is none.
/// A part whose lse is -infinity adds nothing, whatever its out holds; a row that is empty in every
/// part gives 0 and -infinity, or 0 and its sink. One part without a sink comes back as it is. NaN
/// and +infinity in the lse of a part or in a sink, and NaN or infinity in an out, spoil the rows
/// they belong to and no others.
/// An output may be the very view of a part's out or lse, and overlap no other memory.
/// Errors: invalid_argument with a sentence, out_of_memory; outputs are then untouched.
REGARD_API Status merge(std::span<const Part> parts, const ConstTensor& sinks, const Tensor& out,
                        const Tensor& lse) noexcept;

/// What one part brings to one element of the result, and how far each number may be from what it
/// stands for. Where nothing but its storage is to blame, lse_error is u |lse|.
struct PartElement {
  double out = 0;
  double out_error = 0;
  double lse = -std::numeric_limits<double>::infinity();
  double lse_error = 0;
};

struct MergeError {
  double out = 0;
  double lse = 0;
};

/// How far a merged element and its row's lse may be from the exact merge of exact parts, to first
/// order in the lse_errors, for results of types `out` and `lse`: the errors of the parts, weighed,
/// and the merge's own. `sink` is -infinity where there is none. docs/numerics.md derives it.
REGARD_API MergeError merge_error(std::span<const PartElement> parts, double sink, DType out,
                                  DType lse) noexcept;

/// A natural log-sum-exp in base 2, as some kernels give it, and back.
constexpr double lse_to_base2(double natural) noexcept {
  return natural * 1.44269504088896340736;
}
constexpr double lse_from_base2(double base2) noexcept {
  return base2 * 0.69314718055994530942;
}

}  // namespace regard
