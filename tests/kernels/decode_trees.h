// Trees of rows, and what rows see as a dense mask.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "kernels/cached.h"
#include "kernels/full_call.h"

namespace regard::test {

/// Two KV heads, D = 64, Dv = 32.
inline KvCacheOptions paged(KvType k, KvType v, std::int64_t page_tokens = 16) {
  KvCacheOptions options;
  options.k_type = k;
  options.v_type = v;
  options.kv_heads = 2;
  options.k_head_size = 64;
  options.v_head_size = 32;
  options.page_tokens = page_tokens;
  return options;
}

/// A boolean mask from what each row of each sequence sees, (N, 1, Sq, Skv).
template <class F>
BoolTensor mask_of(std::int64_t count, std::int64_t rows, std::int64_t keys, const F& sees) {
  TestTensor<float> numbers({count, 1, rows, keys});
  for_each_index(numbers.shape(), [&](auto n, auto h, auto i, auto j) {
    numbers.at(n, h, i, j) = sees(n, i, j) ? 1 : 0;
  });
  return BoolTensor(numbers);
}

/// parents[i] < i for each of `rows` rows: chains, forks and new roots.
inline std::vector<std::int64_t> random_parents(std::int64_t rows, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<std::int64_t> parents;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::uint64_t kind = engine() % 4;
    parents.push_back(kind == 0 || i == 0 ? -1
                      : kind == 1         ? i - 1
                                          : std::int64_t(engine() % std::uint64_t(i)));
  }
  return parents;
}

/// Row `ancestor` is row i or comes before it on its branch.
inline bool is_on_branch(const std::int64_t* parents, std::int64_t i, std::int64_t ancestor) {
  for (; i >= 0; i = parents[i]) {
    if (i == ancestor) return true;
  }
  return false;
}

}  // namespace regard::test
