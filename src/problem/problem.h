// One struct for a request, and with its neighbours the only place that rejects a bad call.
// Knows nothing of tiles, threads or instruction sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "problem/tensors.h"
#include "regard/attention.h"
#include "regard/options.h"
#include "regard/status.h"
#include "regard/tensor.h"

namespace regard::problem {

/// A valid request. Keeps the caller's views and spans. mask, bias, alibi_slopes and sinks, where
/// given, have been broadcast: full shape, strides 0 along the axes that repeat.
struct Problem {
  ConstTensor q, k, v;
  Outputs outputs;
  DType dtype = DType::f32;  ///< of q, k and v
  DType compute = DType::f32;
  std::int64_t batch = 0, heads = 0, kv_heads = 0, sq = 0, skv = 0, d = 0, dv = 0;
  std::int64_t group = 1;  ///< query heads per KV head
  double scale = 1;
  double softcap = 0;
  ConstTensor mask, bias, alibi_slopes, sinks;
  Causal causal = Causal::none;
  std::span<const std::int64_t> q_offset;
  Window window;
  std::span<const std::int64_t> q_len, kv_len;
  Sequences sequences;  ///< of a packed batch; batch, sq and skv count them and the longest
  std::span<const std::int64_t> rows;
  Stage weights_stage = Stage::softmax;
  Precision precision = Precision::default_;
  Path path = Path::automatic;
  int threads = 0;
  std::span<std::byte> scratch;

  bool packed() const noexcept { return !sequences.q.empty(); }
};

/// Checks shapes, types and options; on success fills `problem`. Touches no tensor memory.
/// `sequences` cuts packed tensors; without them every batch entry is one.
Status make_problem(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                    const Outputs& outputs, const Options& options, Problem& problem,
                    const Sequences& sequences = {});

/// How many of the largest weights are wanted.
std::int64_t top_count(const Outputs& outputs) noexcept;

/// Refuses a packed call without sequences.
Status require_sequences(const Sequences& sequences);

/// Checks options and outputs of a problem that has its shapes; fills in what they say.
Status take_options(const Options& options, Problem& problem);
Status check_outputs(const Problem& problem);

/// Checks what only a call that reads and writes needs: pointers, alignment, overlap, and that the
/// caller's scratch, if any, holds `scratch_bytes`.
Status check_memory(const Problem& problem, std::int64_t scratch_bytes = 0);

}  // namespace regard::problem
