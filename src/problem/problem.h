// One struct for a request, and the only place that rejects a bad call.
// Turns causal alignment (later: window and lengths) into "row i sees keys [lo, hi)".
// Knows nothing of tiles, threads or instruction sets.
#pragma once

#include <cstdint>
#include <span>

#include "regard/attention.h"
#include "regard/options.h"
#include "regard/status.h"
#include "regard/tensor.h"

namespace regard::problem {

struct KeyRange {
  std::int64_t lo = 0;
  std::int64_t hi = 0;
};

/// A valid request. Keeps the caller's views, `q_offset` and `rows` included.
struct Problem {
  ConstTensor q, k, v;
  Outputs outputs;
  DType dtype = DType::f32;
  std::int64_t batch = 0, heads = 0, kv_heads = 0, sq = 0, skv = 0, d = 0, dv = 0;
  std::int64_t group = 1;  ///< query heads per KV head
  double scale = 1;
  Causal causal = Causal::none;
  std::span<const std::int64_t> q_offset;
  std::span<const std::int64_t> rows;
  Path path = Path::automatic;
  int threads = 0;
};

/// Checks shapes, types and options; on success fills `problem`. Touches no tensor memory.
Status make_problem(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                    const Outputs& outputs, const Options& options, Problem& problem);

/// Checks what only a call that reads and writes needs: pointers, alignment, overlap.
Status check_memory(const Problem& problem);

/// Checks a tensor that holds a result: shape, a served type, strides, pointer and alignment.
Status check_result(const char* name, const ConstTensor& tensor, const Shape& shape);

/// Keys that row i of batch entry b sees, within [0, Skv]; empty when lo >= hi.
KeyRange visible_keys(const Problem& problem, std::int64_t b, std::int64_t i) noexcept;

/// Batch entries whose rows see different keys: 1 when all entries share one offset.
std::int64_t distinct_ranges(const Problem& problem) noexcept;

}  // namespace regard::problem
