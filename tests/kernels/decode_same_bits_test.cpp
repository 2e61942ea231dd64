// A decoded row has the same bits whatever else is in the call: other sequences, heads and rows,
// the size and order of pages, threads, strides, packed or not, and pages that sequences share.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "kernels/cached.h"
#include "kernels/full_call.h"

namespace regard::test {
namespace {

template <class T>
class DecodeSameBits : public testing::Test {};
using Types = testing::Types<float, F16, BF16>;
TYPED_TEST_SUITE(DecodeSameBits, Types);

struct KvTypes {
  KvType k, v;
};
constexpr KvTypes kPairs[] = {{KvType::f32, KvType::f32},         {KvType::f16, KvType::bf16},
                              {KvType::bf16, KvType::bf16},       {KvType::int8, KvType::int8},
                              {KvType::int8_32, KvType::int4_32}, {KvType::q8_0, KvType::fp8_e4m3}};

KvCacheOptions cache_of(KvTypes types, std::int64_t page_tokens = 64) {
  KvCacheOptions options;
  options.k_type = types.k;
  options.v_type = types.v;
  options.kv_heads = 2;
  options.k_head_size = 96;
  options.v_head_size = 64;
  options.page_tokens = page_tokens;
  return options;
}

/// Rows [begin, begin + count) of q's third axis.
template <class T>
TestTensor<T> rows_of(const TestTensor<T>& q, std::int64_t begin, std::int64_t count) {
  return sliced(q, 2, begin, count);
}

/// Rows [first, first + count) of `packed` are those of `single`.
template <class T>
bool same_rows(const Decoded<T>& packed, std::int64_t first, const Decoded<T>& single) {
  const std::int64_t count = single.out.shape()[2];
  return sliced(packed.out, 2, first, count).same_bits(single.out) &&
         sliced(packed.lse, 2, first, count).same_bits(single.lse);
}

std::vector<std::int64_t> random_lengths(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<std::int64_t> lengths;
  for (std::size_t n = 0; n < count; ++n) {
    const std::uint64_t most = n % 6 == 0 ? 2500 : n % 3 == 0 ? 1100 : 200;
    lengths.push_back(std::int64_t(engine() % most));
  }
  return lengths;
}

TYPED_TEST(DecodeSameBits, OfTwentyFourSequencesAndEachAlone) {
  for (const KvTypes types : kPairs) {
    const KvCacheOptions options = cache_of(types);
    const std::vector<std::int64_t> lengths = random_lengths(24, 7 + std::uint64_t(types.k));
    const std::vector<Inputs<float>> tokens = random_tokens(options, lengths, 50);
    std::vector<std::int64_t> rows;
    for (std::int64_t n = 0; n < 24; ++n) rows.push_back(n % 5 == 4 ? 0 : n % 7 == 0 ? 9 : n % 4);
    const std::vector<std::int64_t> starts = starts_of(rows);
    const Cached cached = make_cached(options, tokens);
    const auto q = normal_tensor<TypeParam>({1, 6, starts.back(), 96}, 3);
    const auto packed = run_decode(cached, q, {}, {.rows = {.starts = starts, .parents = {}}});
    for (std::size_t n = 0; n < 24; ++n) {
      const auto own = rows_of(q, starts[n], rows[n]);
      const Cached alone = make_cached(options, {tokens[n]});
      EXPECT_TRUE(same_rows(packed, starts[n], run_decode(alone, own)))
          << "sequence " << n << " of " << lengths[n] << " keys, " << kv_type_name(types.k);
    }
  }
}

TYPED_TEST(DecodeSameBits, OfAnyPageSize) {
  const auto tokens = random_tokens(cache_of(kPairs[0]), {2100, 1, 64, 1023, 333}, 9);
  const auto q = normal_tensor<TypeParam>({5, 4, 3, 96}, 3);
  for (const KvTypes types : kPairs) {
    Options call;
    call.causal = Causal::bottom_right;
    const auto expected = run_decode(make_cached(cache_of(types), tokens), q, call);
    for (const std::int64_t page_tokens : kPageTokens) {
      const Cached cached = make_cached(cache_of(types, page_tokens), tokens);
      EXPECT_TRUE(run_decode(cached, q, call).same_bits(expected))
          << "pages of " << page_tokens << ", " << kv_type_name(types.k);
    }
  }
}

/// Options of every kind for N sequences of the cache; its lengths are the cache's.
unsigned kinds_at(int n) {
  constexpr unsigned kinds[] = {0,      kMask,  kBias, kWindow, kAlibi | kSinks, kSoftcap | kBias,
                                kEvery, kRagged};
  return kinds[n] & ~kRagged;
}

TYPED_TEST(DecodeSameBits, OfAnyNumberOfThreadsStridesAndForm) {
  const std::vector<std::int64_t> lengths = {2100, 700, 0, 65, 1300};
  const ProblemShape shape{5, 2, 3, 4, 2100, 96, 64};
  const Cached cached = make_cached(cache_of(kPairs[1]), lengths, 9);
  const auto q = normal_tensor<TypeParam>(shape.q(), 3);
  const FullOptions<TypeParam> full(shape, 2);
  TestTensor<TypeParam> packed_q({1, 6, 20, 96});
  for_each_index(shape.q(), [&](auto b, auto h, auto i, auto d) {
    packed_q.at(0, h, 4 * b + i, d) = q.at(b, h, i, d);
  });
  const std::vector<std::int64_t> starts = starts_of({4, 4, 4, 4, 4});
  for (int kind = 0; kind < 7; ++kind) {
    const LaidOut<TypeParam> laid(full, kinds_at(kind));
    const auto expected = run_decode(cached, q, laid.options);
    for (const int threads : {2, 5}) {
      const Context context(threads);
      EXPECT_TRUE(run_decode(cached, q, laid.options, {.context = &context}).same_bits(expected))
          << threads << " threads, kind " << kind;
    }
    for (const Layout layout : kInputLayouts) {
      const LaidOut<TypeParam> other(full, kinds_at(kind), layout);
      const Layout output = layout == Layout::reversed ? Layout::padded : layout;
      EXPECT_TRUE(
          run_decode(cached, q.copy(layout), other.options, {.layout = output}).same_bits(expected))
          << "layout " << int(layout) << ", kind " << kind;
    }
    const auto packed =
        run_decode(cached, packed_q, laid.options, {.rows = {.starts = starts, .parents = {}}});
    for (std::int64_t b = 0; b < 5; ++b) {
      const Decoded<TypeParam> own = [&] {
        Decoded<TypeParam> part;
        part.out = sliced(expected.out, 0, b, 1);
        part.lse = sliced(expected.lse, 0, b, 1);
        return part;
      }();
      EXPECT_TRUE(same_rows(packed, 4 * b, own)) << "sequence " << b << ", kind " << kind;
    }
  }
}

// A row alone, beside other rows of its sequence, and beside other heads of its group.
TYPED_TEST(DecodeSameBits, OfARowAloneAndInCompany) {
  for (const KvTypes types : kPairs) {
    const KvCacheOptions options = cache_of(types);
    const Cached cached = make_cached(options, {1200}, 4);
    for (const std::int64_t group : {1, 2, 3, 5, 8}) {
      const auto q = normal_tensor<TypeParam>({1, 2 * group, 9, 96}, 3);
      const auto expected = run_decode(cached, q);
      for (const std::int64_t i : {0, 3, 8}) {
        for (std::int64_t member = 0; member < group; ++member) {
          TestTensor<TypeParam> one({1, 2, 1, 96});
          for_each_index(one.shape(), [&](auto, auto h, auto, auto d) {
            one.at(0, h, 0, d) = q.at(0, h * group + member, i, d);
          });
          const auto alone = run_decode(cached, one);
          for (std::int64_t h = 0; h < 2; ++h) {
            const Row there{0, h * group + member, i}, here{0, h, 0};
            EXPECT_TRUE(same_row(expected.out, there, alone.out, here) &&
                        same_row(expected.lse, there, alone.lse, here))
                << "group " << group << " row " << i << " " << kv_type_name(types.k);
          }
        }
      }
    }
  }
}

/// Tokens of one prefix, and those that each of several sequences has behind it.
struct ForkTokens {
  Inputs<float> prefix;
  std::vector<Inputs<float>> own;

  ForkTokens(std::int64_t prefix_length, const std::vector<std::int64_t>& own_lengths)
      : prefix(random_tokens(cache_of(kPairs[0]), prefix_length, 1)),
        own(random_tokens(cache_of(kPairs[0]), own_lengths, 2)) {}
};

/// Forks of the prefix, and copies that share nothing.
struct Forks {
  Cached shared, apart;

  Forks(const KvCacheOptions& options, const ForkTokens& tokens) {
    const std::int64_t prefix = tokens.prefix.k.shape()[2];
    std::vector<std::int64_t> lengths;
    for (const Inputs<float>& own : tokens.own) lengths.push_back(prefix + own.k.shape()[2]);
    shared = make_sequences(options, lengths);
    apart = make_sequences(options, lengths);
    for (const std::int64_t number : shared.sequences) {
      EXPECT_TRUE(shared.cache.remove(number).ok());
    }
    shared.sequences.assign(1, -1);
    EXPECT_TRUE(shared.cache.add(shared.sequences[0]).ok());
    EXPECT_TRUE(append_part(shared, 0, tokens.prefix, 0, prefix).ok());
    for (std::size_t n = 1; n < lengths.size(); ++n) {
      EXPECT_TRUE(shared.cache.fork(shared.sequences[0], shared.sequences.emplace_back()).ok());
    }
    for (std::size_t n = 0; n < lengths.size(); ++n) {
      EXPECT_TRUE(append_part(apart, n, tokens.prefix, 0, prefix).ok());
      for (Cached* cached : {&shared, &apart}) {
        EXPECT_TRUE(append_part(*cached, n, tokens.own[n], 0, lengths[n] - prefix).ok());
      }
    }
  }
};

TYPED_TEST(DecodeSameBits, OfForksAndCopies) {
  const Context three(3);
  const auto q = normal_tensor<TypeParam>({6, 6, 2, 96}, 3);
  for (const std::int64_t prefix : {1024, 1100, 2700}) {
    const ForkTokens tokens(prefix, {70, 0, 1, 900, 64, 33});
    for (const KvTypes types : kPairs) {
      const Forks forks(cache_of(types, 16), tokens);
      Options call;
      if (prefix % 64 != 0) call.causal = Causal::bottom_right;
      const auto expected = run_decode(forks.apart, q, call);
      EXPECT_TRUE(run_decode(forks.shared, q, call).same_bits(expected))
          << "prefix " << prefix << " " << kv_type_name(types.k);
      EXPECT_TRUE(run_decode(forks.shared, q, call, {.context = &three}).same_bits(expected))
          << "prefix " << prefix << " " << kv_type_name(types.k) << ", three threads";
    }
  }
}

// More rows than a work item takes, of forks with every option.
TYPED_TEST(DecodeSameBits, OfForksAndCopiesWithOptions) {
  const Context three(3);
  const Forks forks(cache_of(kPairs[1], 32), ForkTokens(1500, {70, 5, 0, 300}));
  const ProblemShape shape{4, 2, 8, 12, 1800, 96, 64};
  const auto q = normal_tensor<TypeParam>(shape.q(), 3);
  const FullOptions<TypeParam> full(shape, 2);
  for (int kind = 0; kind < 7; ++kind) {
    const LaidOut<TypeParam> laid(full, kinds_at(kind));
    EXPECT_TRUE(run_decode(forks.shared, q, laid.options, {.context = &three})
                    .same_bits(run_decode(forks.apart, q, laid.options)))
        << "kind " << kind;
  }
}

// Forks of forks share less and less with the first; each alone shares nothing.
TYPED_TEST(DecodeSameBits, OfForksOfForks) {
  for (const KvTypes types : kPairs) {
    const KvCacheOptions options = cache_of(types, 32);
    Cached cached = make_sequences(options, {2800, 2800, 1200, 1500, 900, 2800, 2900});
    const std::int64_t kept[] = {2700, 2700, 1100, 1100, 600, 2300, 2700};
    const Inputs<float> prefix = random_tokens(options, 2700, 1);
    ASSERT_TRUE(append_part(cached, 0, prefix, 0, 2700).ok());
    for (std::size_t n = 1; n < 7; ++n) {
      ASSERT_TRUE(cached.cache.remove(cached.sequences[n]).ok());
      ASSERT_TRUE(cached.cache.fork(cached.sequences[n == 3 ? 2 : 0], cached.sequences[n]).ok());
      ASSERT_TRUE(cached.cache.trim(cached.sequences[n], kept[n]).ok());
    }
    for (std::size_t n = 0; n < 7; ++n) {
      const std::int64_t own = cached.lengths[n] - kept[n];
      const Inputs<float> tokens = random_tokens(options, own, 2 + n);
      ASSERT_TRUE(append_part(cached, n, tokens, 0, own).ok());
    }
    const auto q = normal_tensor<TypeParam>({7, 4, 2, 96}, 3);
    const auto all = run_decode(cached, q);
    for (std::size_t n = 0; n < 7; ++n) {
      const auto at = std::int64_t(n);
      Decoded<TypeParam> alone({1, 4, 2, 96}, 64);
      const auto own = sliced(q, 0, at, 1);
      ASSERT_TRUE(decode(one_thread(), own.view(), cached.cache, std::span(&cached.sequences[n], 1),
                         {}, alone.outputs())
                      .ok());
      EXPECT_TRUE(sliced(all.out, 0, at, 1).same_bits(alone.out) &&
                  sliced(all.lse, 0, at, 1).same_bits(alone.lse))
          << "sequence " << n << ", " << kv_type_name(types.k);
    }
  }
}

// The forks of this file are read together indeed, and copies are not.
TEST(DecodeForks, AreReadOnceForAll) {
  const Forks forks(cache_of(kPairs[0], 16), ForkTokens(1100, {70, 0, 5}));
  const auto q = normal_tensor<float>({3, 2, 1, 96}, 3);
  const auto reason = [&](const Cached& cached) {
    Decoded<float> result(q.shape(), 64);
    Explanation explanation;
    EXPECT_TRUE(explain_decode(one_thread(), q.view(), cached.cache, cached.sequences, {},
                               result.outputs(), {}, explanation)
                    .ok());
    return explanation.input_reason;
  };
  EXPECT_NE(reason(forks.shared).find("share are read once for all"), std::string::npos);
  EXPECT_EQ(reason(forks.apart).find("share are read once for all"), std::string::npos);
}

}  // namespace
}  // namespace regard::test
