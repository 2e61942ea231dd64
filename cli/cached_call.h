// Calls of `decode` over a cache of their own, to be timed: a cache of several layers, each a
// sequence of normal numbers, and the plain read of what a layer holds.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "own_tensors.h"
#include "regard/check.h"
#include "regard/decode.h"
#include "regard/kv_report.h"

namespace regard::cli {

enum class MemoryKind {
  ram,    ///< layers in rotation, beside each of them four times the last-level cache
  cache,  ///< one layer again and again
};

const char* memory_name(MemoryKind memory) noexcept;

struct DecodeWorkload {
  KvTypes types = {KvType::f32, KvType::f32};
  DType q_dtype = DType::f32;  ///< of queries and out
  std::int64_t rows = 1;       ///< query heads that share a KV head, one row each
  std::int64_t kv_heads = 8;
  std::int64_t keys = 8192;
  std::int64_t head_size = 128;
  std::int64_t page_tokens = 0;  ///< 0: contiguous, else pages in random order
  int threads = 1;
  MemoryKind memory = MemoryKind::ram;

  /// Bytes of K, V and scales that a call reads.
  std::int64_t bytes() const;
};

class CachedCall {
 public:
  explicit CachedCall(const DecodeWorkload& workload);

  std::int64_t layers() const { return std::int64_t(layers_.size()); }
  /// Of one call, the mean of `calls` in a row. As in a model, the layer before has just been
  /// computed, so that threads are awake, which those of `read_seconds` are too.
  double seconds(std::int64_t layer, int calls) const;
  /// Of one plain read of the layer by as many threads, the mean of `reads` in a row.
  double read_seconds(std::int64_t layer, int reads) const;
  /// Computes a layer and judges 16 rows by the oracle over what the cache holds.
  CheckReport check_sample(std::int64_t layer) const;

 private:
  void fill(std::mt19937_64& engine);
  void call(std::int64_t layer) const;

  DecodeWorkload workload_;
  KvCache cache_;
  std::vector<std::int64_t> layers_;  ///< sequences
  Context context_;
  OwnTensors memory_;
  ConstTensor q_;
  Outputs outputs_;
};

/// Sequences that share a prefix.
struct SharedWorkload {
  DecodeWorkload each;  ///< `keys` are those of one sequence, the prefix included
  std::int64_t prefix = 0, sequences = 8;
};

class SharedCall {
 public:
  explicit SharedCall(const SharedWorkload& workload);

  /// All sequences in one call.
  double seconds_together() const;
  /// A call for each of them.
  double seconds_apart() const;
  /// Judges 16 rows of the last sequence, as computed with the others.
  CheckReport check_sample() const;

 private:
  /// The queries of a sequence, and where its out is.
  ConstTensor queries_of(std::size_t n) const;
  Tensor out_of(std::size_t n) const;

  SharedWorkload workload_;
  KvCache cache_;
  std::vector<std::int64_t> forks_;
  Context context_;
  OwnTensors memory_;
  ConstTensor q_;  ///< of all sequences
  Outputs outputs_;
};

}  // namespace regard::cli
