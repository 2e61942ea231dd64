// A request over cached keys: an ordinary problem, whose keys lie elsewhere.
#pragma once

#include <cstdint>
#include <vector>

#include "problem/problem.h"
#include "regard/decode.h"

namespace regard::problem {

/// A valid decode call. In `problem`, k and v are views of the caches' bytes, (pages, heads,
/// tokens, bytes of a row), for the checks of memory; all else counts as in a `forward` of its
/// sequences.
struct DecodeCall {
  Problem problem;
  KvView cache;
  DecodeRows rows;
  std::vector<std::int64_t> key_starts;  ///< what problem.sequences.kv points at

  DecodeCall() = default;
  DecodeCall(const DecodeCall&) = delete;
  DecodeCall& operator=(const DecodeCall&) = delete;
};

/// Checks shapes, types, options, page tables and trees; on success fills `call`, which keeps the
/// caller's views and spans. Touches no tensor memory.
Status make_decode_call(const ConstTensor& q, const KvView& cache, const DecodeRows& rows,
                        const Outputs& outputs, const Options& options, DecodeCall& call);

/// As check_memory, and for the rows of a cache and their scales.
Status check_decode_memory(const DecodeCall& call, std::int64_t scratch_bytes);

}  // namespace regard::problem
