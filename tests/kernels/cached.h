// Sequences in a cache, decode over them, and its results against the oracle over the numbers that
// the cache holds.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/engine.h"
#include "regard/decode.h"

namespace regard::test {

inline constexpr KvType kKvTypes[] = {
    KvType::f32,  KvType::f16,     KvType::bf16,    KvType::fp8_e4m3, KvType::fp8_e5m2,
    KvType::int8, KvType::int8_32, KvType::int4_32, KvType::q8_0,     KvType::q4_0};

/// Page size 0 stands for as many tokens as the longest sequence has: a contiguous cache.
inline constexpr std::int64_t kPageTokens[] = {16, 32, 48, 64, 128, 256, 0};

/// A cache and the numbers of its sequences.
struct Cached {
  KvCache cache;
  std::vector<std::int64_t> sequences, lengths;

  std::int64_t longest() const {
    return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  }
};

/// Tokens [begin, end) of a (1, Hkv, tokens, columns) tensor appended.
template <class T>
Status append_part(Cached& cached, std::size_t n, const Inputs<T>& tokens, std::int64_t begin,
                   std::int64_t end) {
  const auto part = [&](const TestTensor<T>& whole) {
    ConstTensor view = whole.view();
    view.data = whole.data() + begin * whole.strides()[2];
    view.shape[2] = end - begin;
    return view;
  };
  return cached.cache.append(cached.sequences[n], part(tokens.k), part(tokens.v));
}

/// Pages for these lengths, `spare_pages` more, and sequences without tokens.
inline Cached make_sequences(KvCacheOptions options, const std::vector<std::int64_t>& lengths,
                             std::int64_t spare_pages = 0) {
  Cached cached;
  cached.lengths = lengths;
  if (options.page_tokens == 0) options.page_tokens = (cached.longest() + 15) / 16 * 16 + 16;
  options.pages = 1 + spare_pages;
  for (const std::int64_t length : lengths) options.pages += length / options.page_tokens + 1;
  const Status status = KvCache::create(options, cached.cache);
  EXPECT_TRUE(status.ok()) << status.message();
  for (std::size_t n = 0; n < lengths.size(); ++n) {
    EXPECT_TRUE(cached.cache.add(cached.sequences.emplace_back()).ok());
  }
  return cached;
}

/// Random K and V of one sequence.
inline Inputs<float> random_tokens(const KvCacheOptions& options, std::int64_t count,
                                   std::uint64_t seed) {
  return {TestTensor<float>(),
          normal_tensor<float>({1, options.kv_heads, count, options.k_head_size}, 2 * seed),
          normal_tensor<float>({1, options.kv_heads, count, options.v_head_size}, 2 * seed + 1)};
}

/// Those of several sequences; those of sequence n depend on seed + n alone.
inline std::vector<Inputs<float>> random_tokens(const KvCacheOptions& options,
                                                const std::vector<std::int64_t>& lengths,
                                                std::uint64_t seed) {
  std::vector<Inputs<float>> tokens;
  for (std::size_t n = 0; n < lengths.size(); ++n) {
    tokens.push_back(random_tokens(options, lengths[n], seed + n));
  }
  return tokens;
}

/// A cache of these tokens, appended in turns, so that the pages of a sequence are scattered.
inline Cached make_cached(const KvCacheOptions& options, const std::vector<Inputs<float>>& tokens) {
  constexpr std::int64_t kAtOnce = 37;
  std::vector<std::int64_t> lengths;
  for (const Inputs<float>& own : tokens) lengths.push_back(own.k.shape()[2]);
  Cached cached = make_sequences(options, lengths);
  for (std::int64_t begin = 0; begin < cached.longest(); begin += kAtOnce) {
    for (std::size_t n = 0; n < lengths.size(); ++n) {
      if (begin >= lengths[n]) continue;
      const std::int64_t end = std::min(begin + kAtOnce, lengths[n]);
      const Status status = append_part(cached, n, tokens[n], begin, end);
      EXPECT_TRUE(status.ok()) << status.message();
    }
  }
  return cached;
}

inline Cached make_cached(const KvCacheOptions& options, const std::vector<std::int64_t>& lengths,
                          std::uint64_t seed) {
  return make_cached(options, random_tokens(options, lengths, seed));
}

/// What the cache holds, (N, Hkv, longest, columns); guards beyond lengths and of dropped tokens.
inline Inputs<float> dequantised(const Cached& cached) {
  const KvCacheOptions& options = cached.cache.options();
  const auto count = std::int64_t(cached.lengths.size());
  const std::int64_t longest = cached.longest();
  Inputs<float> in{TestTensor<float>(),
                   TestTensor<float>({count, options.kv_heads, longest, options.k_head_size}),
                   TestTensor<float>({count, options.kv_heads, longest, options.v_head_size})};
  for (std::int64_t n = 0; n < count; ++n) {
    const std::int64_t sequence = cached.sequences[std::size_t(n)];
    const std::int64_t length = cached.lengths[std::size_t(n)];
    const std::int64_t held = cached.cache.held_from(sequence);
    const auto gather = [&](std::int64_t begin, std::int64_t end) {
      const auto part = [&](TestTensor<float>& whole) {
        Tensor view = whole.tensor();
        view.data = whole.data() + n * whole.strides()[0] + begin * whole.strides()[2];
        view.shape[0] = 1;
        view.shape[2] = std::max<std::int64_t>(end - begin, 0);
        return view;
      };
      const Status status = cached.cache.gather(sequence, begin, part(in.k), part(in.v));
      EXPECT_TRUE(status.ok()) << status.message();
    };
    const std::int64_t kept = std::min(options.keep_first, length);
    if (kept > 0) gather(0, kept);
    if (held < length) gather(held, length);
  }
  return in;
}

template <class T>
struct Decoded {
  TestTensor<T> out;
  TestTensor<float> lse;

  Decoded() = default;
  Decoded(const Shape& q, std::int64_t dv, Layout layout = Layout::bhsd)
      : out({q[0], q[1], q[2], dv}, layout), lse({q[0], q[1], q[2], 1}, layout) {}
  Outputs outputs() { return {.out = out.tensor(), .lse = lse.tensor(), .weights = {}}; }
  void expect_written() const {
    EXPECT_TRUE(out.canaries_intact() && lse.canaries_intact());
    EXPECT_EQ(out.unwritten() + lse.unwritten(), 0);
  }
  bool same_bits(const Decoded& other) const {
    return out.same_bits(other.out) && lse.same_bits(other.lse);
  }
};

/// How a call is made, beside its numbers.
struct HowDecoded {
  DecodeRows rows{};
  Layout layout = Layout::bhsd;
  const Context* context = &one_thread();
};

template <class T>
Decoded<T> run_decode(const Cached& cached, const TestTensor<T>& q, const Options& options = {},
                      const HowDecoded& how = {}) {
  Decoded<T> result(q.shape(), cached.cache.options().v_head_size, how.layout);
  const Status status = decode(*how.context, q.view(), cached.cache, cached.sequences, how.rows,
                               result.outputs(), options);
  EXPECT_TRUE(status.ok()) << status.message();
  result.expect_written();
  return result;
}

/// The same over a view.
template <class T>
Decoded<T> run_decode(const KvView& view, const TestTensor<T>& q, const Options& options = {},
                      const HowDecoded& how = {}) {
  Decoded<T> result(q.shape(), view.v.head_size, how.layout);
  const Status status = decode(*how.context, q.view(), view, how.rows, result.outputs(), options);
  EXPECT_TRUE(status.ok()) << status.message();
  result.expect_written();
  return result;
}

/// Every row of out and lse within f32's bound over the dequantised numbers (`rows` of them, 0:
/// all), for q (N, Hq, Sq, D).
template <class T>
testing::AssertionResult matches_oracle(const Cached& cached, const TestTensor<T>& q,
                                        Options options, const Decoded<T>& result,
                                        std::int64_t rows = 0) {
  Inputs<float> in = dequantised(cached);
  in.q = q.template copy<float>();
  options.kv_len = cached.lengths;
  Result<float, T> judged{result.out, result.lse};
  return matches_oracle(in, options, judged, rows);
}

/// As many rows a sequence as given, one after another.
inline std::vector<std::int64_t> starts_of(const std::vector<std::int64_t>& counts) {
  std::vector<std::int64_t> starts = {0};
  for (const std::int64_t count : counts) starts.push_back(starts.back() + count);
  return starts;
}

}  // namespace regard::test
