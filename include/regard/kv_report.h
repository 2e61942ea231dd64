// What storing K and V in fewer bits does to attention, row by row: outputs, scores and weights
// over the numbers that a cache holds beside those it was given, both from the f64 oracle. So
// nothing but the types counts, no kernel's rounding. docs/kv-cache.md shows what the types cost.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "regard/export.h"
#include "regard/kv_cache.h"
#include "regard/oracle.h"

namespace regard {

/// What became of one row; o, s, p and H are its output, scores, weights and entropy, a prime marks
/// those over the stored numbers. A row that sees no key has 0 everywhere. A row whose output or
/// score is not finite even before storing has NaN in all four measures; where only the stored side
/// is not finite (a NaN makes an int8 row NaN, a large number is infinite in f16), the measures
/// that rest on it are infinite.
struct KvRowReport {
  std::int64_t b = 0, h = 0, i = 0;
  std::int64_t visible = 0;  ///< keys the row sees
  /// |o' - o| / |o|, Euclidean norms over Dv; 0 where o' = o, infinite where o alone is 0.
  double out_error = 0;
  /// max_j |s'_j - s_j| over visible keys, of scores after scale and softcap, before bias and ALiBi
  /// (Stage::capped), which shift both alike.
  double logit_shift = 0;
  std::int64_t logit_key = -1;  ///< where it is, of equal ones the lowest; -1: the row sees no key
  /// H' - H in nats, H = -sum_j p_j ln p_j over visible keys. Below 0: the row looks at fewer keys.
  double entropy_change = 0;
  /// sum_j |p'_j - p_j| / 2, a sink counting as a key: the share of the weight that has gone to
  /// other keys, the total variation distance. At most tanh(logit_shift / 2): no ratio of two
  /// weights changes by more than e^(2 logit_shift).
  double weight_moved = 0;
};

/// The largest of a measure, and where: the first of equal ones; -1 where no row was measured.
struct KvWorst {
  double value = 0;
  std::int64_t b = -1, h = -1, i = -1;
};

/// Of one head's rows, or of all. Numbers are over the rows that were measured.
struct KvSummary {
  std::int64_t b = -1, h = -1;      ///< whose; -1: all heads together
  std::int64_t rows = 0;            ///< measured
  std::int64_t rows_empty = 0;      ///< that see no key
  std::int64_t rows_undefined = 0;  ///< not finite before storing
  double rms_out_error = 0;         ///< root of the mean of out_error^2
  double mean_entropy_change = 0;
  KvWorst out_error, logit_shift, weight_moved;
  KvWorst entropy_change;  ///< of the largest magnitude
};

struct KvReport {
  std::vector<KvRowReport> rows;  ///< in the order of (B, Hq, Sq); those of the sample
  std::vector<KvSummary> heads;   ///< B Hq of them, in this order
  KvSummary all;
};

struct KvReportSettings {
  std::int64_t rows = 0;  ///< rows sampled over all batch entries and heads; 0: every row
  std::uint64_t seed = 0;
  /// Called with rows done and rows in all: at the start, now and then, and at the end; false stops
  /// with `cancelled`.
  std::function<bool(std::int64_t done, std::int64_t total)> progress{};
};

/// What K and V are stored as.
struct KvTypes {
  KvType k = KvType::f16;
  KvType v = KvType::f16;
};

/// What a cache of these types would do: q (B, Hq, Sq, D), k (B, Hkv, Skv, D), v (B, Hkv, Skv, Dv)
/// and options as for `forward`, but k and v may be of any float types: what KvCache::append is
/// given. Memory grows with K and V, never with Sq Skv; time is twice that of a `check`. Errors:
/// what `forward` refuses, what KvCache::create says of types and head sizes, out_of_memory,
/// cancelled. Every call that fails leaves the report untouched.
REGARD_API Status report_kv(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                            const KvTypes& types, const Options& options,
                            const KvReportSettings& settings, KvReport& report) noexcept;

/// What this cache has done: q (N, Hq, Sq, D) and options as for `decode` over its sequences, k (N,
/// Hkv, Skv, D) and v (N, Hkv, Skv, Dv) the tokens before they were appended, Skv being the longest
/// length; what is behind a shorter one is not read, nor are tokens that a ring has dropped. Packed
/// rows and trees are not served. Errors: what `decode` refuses too.
REGARD_API Status report_kv(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                            const KvView& cache, const Options& options,
                            const KvReportSettings& settings, KvReport& report) noexcept;

/// The same for sequences of a KvCache, in the order given.
REGARD_API Status report_kv(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                            const KvCache& cache, std::span<const std::int64_t> sequences,
                            const Options& options, const KvReportSettings& settings,
                            KvReport& report) noexcept;

}  // namespace regard
