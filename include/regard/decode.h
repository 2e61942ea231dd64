// Attention of few query rows over cached keys: generating tokens. Each K and V row is read and
// converted once for all query rows that share it.
#pragma once

#include <cstdint>
#include <span>

#include "regard/attention.h"
#include "regard/kv_cache.h"

namespace regard {

/// Which query rows belong to which sequence, and what they see of one another.
struct DecodeRows {
  /// Sequence n has rows [starts[n], starts[n + 1]) of a packed q (1, Hq, total rows, D). Empty: q
  /// is (N, Hq, Sq, D), Sq rows a sequence.
  std::span<const std::int64_t> starts;
  /// Trees of speculated tokens: one number a row (total rows, or N Sq), the row of its sequence
  /// that comes before it, or -1. The last keys of a sequence, as many as it has rows, belong to
  /// its rows one by one; a row sees, beside all earlier keys, those of itself and its ancestors.
  /// parents[i] < i, at most 64 rows a sequence; those of rows past q_len may be anything. Empty:
  /// no tree.
  std::span<const std::int64_t> parents;
};

/// Attention of q, f32, f16 or bf16, over the sequences of `cache`: exact over the numbers the
/// cache holds, sums in f32. The new tokens have been appended before. Options count as in a
/// `forward` of N sequences whose Skv is the longest length: mask and bias broadcast against
/// (N, Hq, Sq, Skv); kv_len may not be given. Only `out` and `lse` are served, in q's layout.
/// Gives the same bits for any page size, number of threads and company in the batch; pages that
/// neighbouring sequences share at their starts are read once for all of them.
/// Errors: invalid_argument or unsupported with a sentence, outputs untouched; out_of_memory;
/// cancelled, outputs unspecified.
REGARD_API Status decode(const Context& context, const ConstTensor& q, const KvView& cache,
                         const DecodeRows& rows, const Outputs& outputs,
                         const Options& options = {}) noexcept;

/// The same for sequences of a KvCache, in the order given.
REGARD_API Status decode(const Context& context, const ConstTensor& q, const KvCache& cache,
                         std::span<const std::int64_t> sequences, const DecodeRows& rows,
                         const Outputs& outputs, const Options& options = {}) noexcept;

/// How `decode` would serve the same arguments, and how much `scratch` it takes. A tile is a pass
/// of rows and a block of keys; those of keys that sequences share count once for the rows of all.
/// No tensor memory is touched.
REGARD_API Status explain_decode(const Context& context, const ConstTensor& q, const KvView& cache,
                                 const DecodeRows& rows, const Outputs& outputs,
                                 const Options& options, Explanation& explanation) noexcept;

/// The same for sequences of a KvCache, in the order given.
REGARD_API Status explain_decode(const Context& context, const ConstTensor& q, const KvCache& cache,
                                 std::span<const std::int64_t> sequences, const DecodeRows& rows,
                                 const Outputs& outputs, const Options& options,
                                 Explanation& explanation) noexcept;

}  // namespace regard
