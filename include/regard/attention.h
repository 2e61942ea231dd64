// Exact scaled-dot-product attention: out = softmax(scale q k') v for every batch entry and head,
// in O((Sq + Skv) D) memory. docs/math.md fixes the letters and the order of operations.
#pragma once

#include <cstdint>
#include <string>

#include "regard/context.h"
#include "regard/export.h"
#include "regard/options.h"
#include "regard/status.h"
#include "regard/tensor.h"

namespace regard {

/// What to write. Every tensor may be absent (null data); outputs may overlap neither the inputs
/// nor one another.
struct Outputs {
  Tensor out;      ///< (B, Hq, Sq, Dv), dtype of q
  Tensor lse;      ///< (B, Hq, Sq, 1), natural logarithm, dtype of q; -inf for an empty row
  Tensor weights;  ///< (B, Hq, R, Skv), R = number of `rows` (Sq if empty), dtype of q
};

/// Attention of q (B, Hq, Sq, D), k (B, Hkv, Skv, D), v (B, Hkv, Skv, Dv), all of one dtype
/// (f32 or f64). Query head h reads KV head floor(h Hkv / Hq). A row that sees no key gives 0.
/// Errors: invalid_argument or unsupported with a sentence, outputs untouched; out_of_memory,
/// outputs untouched; cancelled, outputs unspecified.
REGARD_API Status forward(const Context& context, const ConstTensor& q, const ConstTensor& k,
                          const ConstTensor& v, const Outputs& outputs,
                          const Options& options = {}) noexcept;

/// How `forward` would serve the same arguments. No tensor memory is touched.
struct Explanation {
  Path path = Path::automatic;
  std::string path_reason;
  std::string isa;
  std::string isa_reason;
  int threads = 1;
  std::int64_t rows_per_tile = 0;   ///< query rows computed together, lanes included
  std::int64_t keys_per_tile = 0;   ///< keys computed together
  std::int64_t keys_per_block = 0;  ///< keys between two visits of the accumulators
  std::int64_t rows_per_item = 0;   ///< query rows of one work item
  std::int64_t main_items = 0;      ///< work items that compute out and lse
  std::int64_t weights_items = 0;   ///< work items of a separate weights pass over chosen rows
  std::int64_t tiles_visited = 0;   ///< key x row tiles computed by the main items
  std::int64_t tiles_total = 0;     ///< tiles if every row saw every key
  std::int64_t scratch_bytes = 0;   ///< taken from the context for the duration of the call
};

/// Fills `explanation`. Errors: what `forward` refuses before it looks at memory; `explanation` is
/// then untouched.
REGARD_API Status explain(const Context& context, const ConstTensor& q, const ConstTensor& k,
                          const ConstTensor& v, const Outputs& outputs, const Options& options,
                          Explanation& explanation) noexcept;

}  // namespace regard
