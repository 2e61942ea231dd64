// A small cache, tokens for it, and what it holds.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "regard/kv_cache.h"
#include "support/random.h"

namespace regard::test {

/// Pages of 16 tokens, two heads, D = 3, Dv = 5, f32: what goes in comes out.
inline KvCacheOptions small_options(std::int64_t pages = 8) {
  KvCacheOptions options;
  options.k_type = options.v_type = KvType::f32;
  options.kv_heads = 2;
  options.k_head_size = 3;
  options.v_head_size = 5;
  options.page_tokens = 16;
  options.pages = pages;
  return options;
}

/// Bytes of one page of such a cache: two heads of 16 tokens.
inline constexpr std::int64_t kSmallPageBytes = 2 * 16 * (3 + 5) * 4;

inline KvCache make_cache(const KvCacheOptions& options) {
  KvCache cache;
  const Status status = KvCache::create(options, cache);
  EXPECT_TRUE(status.ok()) << status.message();
  return cache;
}

template <class T>
struct TokensOf {
  TestTensor<T> k, v;

  TokensOf() = default;
  TokensOf(const KvCacheOptions& options, std::int64_t count, Layout layout = Layout::bhsd)
      : k({1, options.kv_heads, count, options.k_head_size}, layout),
        v({1, options.kv_heads, count, options.v_head_size}, layout) {}

  std::int64_t count() const { return k.shape()[2]; }
  bool same_bits(const TokensOf& other) const {
    return k.same_bits(other.k) && v.same_bits(other.v);
  }
};
using Tokens = TokensOf<float>;

template <class T = float>
TokensOf<T> random_tokens(const KvCacheOptions& options, std::int64_t count, std::uint64_t seed,
                          Layout layout = Layout::bhsd) {
  TokensOf<T> tokens(options, count, layout);
  fill_normal(tokens.k, 2 * seed);
  fill_normal(tokens.v, 2 * seed + 1);
  return tokens;
}

template <class T>
Status append(KvCache& cache, std::int64_t sequence, const TokensOf<T>& tokens) {
  return cache.append(sequence, tokens.k.view(), tokens.v.view());
}

/// Random tokens appended: what they are.
inline Tokens append_random(KvCache& cache, std::int64_t sequence, std::int64_t count,
                            std::uint64_t seed) {
  Tokens tokens = random_tokens(cache.options(), count, seed);
  const Status status = append(cache, sequence, tokens);
  EXPECT_TRUE(status.ok()) << status.message();
  return tokens;
}

inline std::int64_t added(KvCache& cache) {
  std::int64_t sequence = -7;
  EXPECT_TRUE(cache.add(sequence).ok());
  return sequence;
}

inline std::int64_t forked(KvCache& cache, std::int64_t sequence) {
  std::int64_t copy = -7;
  const Status status = cache.fork(sequence, copy);
  EXPECT_TRUE(status.ok()) << status.message();
  return copy;
}

/// Tokens [begin, begin + count) as the cache gives them.
inline Tokens gathered(const KvCache& cache, std::int64_t sequence, std::int64_t begin,
                       std::int64_t count) {
  Tokens tokens(cache.options(), count);
  const Status status = cache.gather(sequence, begin, tokens.k.tensor(), tokens.v.tensor());
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(tokens.k.canaries_intact() && tokens.v.canaries_intact());
  return tokens;
}

inline TestTensor<float> part(const TestTensor<float>& whole, std::int64_t begin,
                              std::int64_t count) {
  Shape shape = whole.shape();
  shape[2] = count;
  TestTensor<float> result(shape);
  for_each_index(shape, [&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
    result.at(b, h, s, d) = whole.at(b, h, begin + s, d);
  });
  return result;
}

/// Tokens [begin, begin + count) of some.
inline Tokens part(const Tokens& whole, std::int64_t begin, std::int64_t count) {
  Tokens result;
  result.k = part(whole.k, begin, count);
  result.v = part(whole.v, begin, count);
  return result;
}

/// The cache holds `tokens` from `begin` on.
inline bool holds(const KvCache& cache, std::int64_t sequence, std::int64_t begin,
                  const Tokens& tokens) {
  return gathered(cache, sequence, begin, tokens.count()).same_bits(tokens);
}

}  // namespace regard::test
