// Decode equals the oracle on what the cache holds: element types of K and V, head sizes, lengths
// around the edges of tiles, blocks and chunks, groups, pages and every option.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "kernels/cached.h"
#include "support/random_options.h"

namespace regard::test {
namespace {

template <class T>
class Decode : public testing::Test {};
using Types = testing::Types<float, F16, BF16>;
TYPED_TEST_SUITE(Decode, Types);

constexpr std::int64_t kCachedLengths[] = {0, 1, 15, 16, 17, 63, 64, 65, 1023, 1024, 1025, 2049};
constexpr std::int64_t kSizes[] = {1, 31, 32, 40, 59, 64, 80, 96, 111, 128, 192, 256};
constexpr std::int64_t kBlockSizes[] = {32, 64, 96, 128, 192, 256};
constexpr std::int64_t kGroupSizes[] = {1, 2, 3, 4, 8, 12};
constexpr std::int64_t kRowCounts[] = {1, 2, 5, 32};

struct DecodeProblem {
  KvCacheOptions cache;
  std::vector<std::int64_t> lengths;
  std::int64_t group = 1, rows = 1;
  double deviation = 1;
  bool has_options = false;
  Layout input = Layout::bhsd, output = Layout::bhsd;
  std::uint64_t seed = 0;

  ProblemShape shape() const {
    const std::int64_t keys =
        lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
    return {std::int64_t(lengths.size()),
            cache.kv_heads,
            group,
            rows,
            keys,
            cache.k_head_size,
            cache.v_head_size};
  }
};

std::ostream& operator<<(std::ostream& stream, const DecodeProblem& p) {
  return stream << p.shape() << " k " << kv_type_name(p.cache.k_type) << " v "
                << kv_type_name(p.cache.v_type) << " pages of " << p.cache.page_tokens
                << " options " << p.has_options << " seed " << p.seed;
}

template <class T>
void expect_holds(const DecodeProblem& p) {
  SCOPED_TRACE(testing::Message() << p);
  const Cached cached = make_cached(p.cache, p.lengths, p.seed);
  const auto q = normal_tensor<T>(p.shape().q(), p.seed + 1000, p.input, p.deviation);
  const RandomOptions random(p.shape(), p.seed);
  Options options = p.has_options ? random.options : Options{};
  options.kv_len = {};
  const auto result = run_decode(cached, q, options, {.layout = p.output});
  EXPECT_TRUE(matches_oracle(cached, q, options, result, 25));
}

KvCacheOptions cache_of(KvType k, KvType v, std::int64_t d, std::int64_t dv) {
  KvCacheOptions options;
  options.k_type = k;
  options.v_type = v;
  options.kv_heads = 1;
  options.k_head_size = d;
  options.v_head_size = dv;
  return options;
}

/// Draws what is left to draw of a problem with these element types.
DecodeProblem draw(KvType k, KvType v, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  const auto pick = [&](const auto& from) { return from[engine() % std::size(from)]; };
  const auto size = [&](KvType type) {
    return kv_block(type) > 1 ? pick(kBlockSizes) : pick(kSizes);
  };
  DecodeProblem p;
  p.cache = cache_of(k, v, size(k), size(v));
  p.cache.kv_heads = std::int64_t(1 + engine() % 2);
  p.cache.page_tokens = pick(kPageTokens);
  for (std::uint64_t n = 1 + engine() % 3; n > 0; --n) p.lengths.push_back(pick(kCachedLengths));
  p.group = pick(kGroupSizes);
  p.rows = pick(kRowCounts);
  const double deviations[] = {1, 1, 0.01, 8, 40};
  p.deviation = pick(deviations);
  p.has_options = engine() % 4 != 0;
  p.input = pick(kInputLayouts);
  p.output = pick(kOutputLayouts);
  p.seed = seed;
  return p;
}

TYPED_TEST(Decode, EveryPairOfElementTypesAndRandomOptions) {
  std::uint64_t seed = 0;
  for (const KvType k : kKvTypes) {
    for (const KvType v : kKvTypes) expect_holds<TypeParam>(draw(k, v, ++seed));
  }
}

TYPED_TEST(Decode, EveryElementTypeAndHeadSize) {
  std::uint64_t seed = 0;
  for (const KvType type : kKvTypes) {
    for (const std::int64_t d : kSizes) {
      if (d % kv_block(type) != 0) continue;
      DecodeProblem p{.cache = cache_of(type, type, d, d), .lengths = {70, 17}, .seed = ++seed};
      p.group = kGroupSizes[seed % std::size(kGroupSizes)];
      expect_holds<TypeParam>(p);
    }
  }
}

TYPED_TEST(Decode, EveryLengthAndPageSize) {
  std::uint64_t seed = 0;
  for (const std::int64_t length : kCachedLengths) {
    for (const std::int64_t tokens : {16, 48, 64, 0}) {
      DecodeProblem p{.cache = cache_of(KvType::f16, KvType::int8, 40, 31), .lengths = {length}};
      p.cache.page_tokens = tokens;
      p.seed = ++seed;
      expect_holds<TypeParam>(p);
    }
  }
}

TYPED_TEST(Decode, EveryGroupAndNumberOfRows) {
  std::uint64_t seed = 0;
  for (const std::int64_t group : kGroupSizes) {
    for (const std::int64_t rows : kRowCounts) {
      DecodeProblem p{.cache = cache_of(KvType::bf16, KvType::f32, 33, 64), .lengths = {1030, 90}};
      p.group = group;
      p.rows = rows;
      p.seed = ++seed;
      expect_holds<TypeParam>(p);
    }
  }
}

TYPED_TEST(Decode, NothingToDo) {
  const KvCacheOptions options = cache_of(KvType::f32, KvType::f32, 8, 8);
  expect_holds<TypeParam>({.cache = options, .lengths = {}});
  expect_holds<TypeParam>({.cache = options, .lengths = {0, 0}});
  expect_holds<TypeParam>({.cache = options, .lengths = {20}, .rows = 0});
}

// Scores that grow from key to key raise the reference again and again, in every chunk.
TYPED_TEST(Decode, GrowingScores) {
  KvCacheOptions options = cache_of(KvType::f32, KvType::f32, 16, 16);
  Cached cached = make_sequences(options, {2100});
  Inputs<float> tokens = random_tokens(options, 2100, 3);
  for_each_index(tokens.k.shape(), [&](auto, auto h, auto s, auto d) {
    tokens.k.at(0, h, s, d) = d == 0 ? float(s) * 0.25F : 0;
  });
  ASSERT_TRUE(append_part(cached, 0, tokens, 0, 2100).ok());
  auto q = normal_tensor<TypeParam>({1, 3, 2, 16}, 4);
  for (std::int64_t h = 0; h < 3; ++h) {
    q.at(0, h, 0, 0) = converted<TypeParam>(float(h + 1));
    q.at(0, h, 1, 0) = converted<TypeParam>(-float(h + 1));
  }
  const auto result = run_decode(cached, q);
  EXPECT_TRUE(matches_oracle(cached, q, {}, result));
}

// A finite minimum is a number, whole chunks of it too; so are scales of 0 and below.
TYPED_TEST(Decode, ScoresAtTheEndsOfTheirRange) {
  constexpr float kMost = std::numeric_limits<float>::max();
  constexpr std::int64_t kLength = 2100;
  const Cached cached =
      make_cached(cache_of(KvType::f32, KvType::f16, 40, 24), {kLength, kLength - 1000}, 3);
  const auto q = normal_tensor<TypeParam>({2, 3, 4, 40}, 4, Layout::bhsd, 3);
  TestTensor<float> bias({1, 1, 4, kLength});
  for_each_index(bias.shape(), [&](auto, auto, auto i, auto j) {
    const bool lowest = i == 0 || (i == 1 && j < 1024) || (i == 2 && j >= 1024);
    bias.at(0, 0, i, j) = lowest ? -kMost : i == 3 && j % 500 == 7 ? kMost : 0;
  });
  for (const double scale : {0.0, -0.5, 4.0, 1e-30}) {
    for (const bool biased : {false, true}) {
      SCOPED_TRACE(testing::Message() << "scale " << scale << " bias " << biased);
      Options call;
      call.scale = scale;
      if (biased) call.bias = bias.view();
      EXPECT_TRUE(matches_oracle(cached, q, call, run_decode(cached, q, call)));
    }
  }
}

TYPED_TEST(Decode, SinksOfEveryKind) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Cached cached = make_cached(cache_of(KvType::f32, KvType::f32, 32, 8), {1100, 0, 3}, 3);
  const auto q = normal_tensor<TypeParam>({3, 6, 2, 32}, 4);
  TestTensor<double> sinks({1, 6, 1, 1});
  const double logits[] = {-kInfinity, 0, 3, 200, -200, 1e-3};
  for (std::int64_t h = 0; h < 6; ++h) sinks.at(0, h, 0, 0) = logits[h];
  Options call;
  call.sinks = sinks.view();
  EXPECT_TRUE(matches_oracle(cached, q, call, run_decode(cached, q, call)));
}

// Out in another float type, and either output alone.
TYPED_TEST(Decode, OutputsAsAskedFor) {
  const Cached cached = make_cached(cache_of(KvType::int8, KvType::f16, 40, 24), {1100, 70}, 3);
  const auto q = normal_tensor<TypeParam>({2, 3, 2, 40}, 4);
  const auto both = run_decode(cached, q);
  const auto run = [&](const Outputs& outputs) {
    const Status status =
        decode(one_thread(), q.view(), cached.cache, cached.sequences, {}, outputs);
    EXPECT_TRUE(status.ok()) << status.message();
  };
  Decoded<TypeParam> one(q.shape(), 24);
  run({.out = one.out.tensor(), .lse = {}, .weights = {}});
  EXPECT_TRUE(one.out.same_bits(both.out));
  run({.out = {}, .lse = one.lse.tensor(), .weights = {}});
  EXPECT_TRUE(one.lse.same_bits(both.lse));
  Decoded<float> wide(q.shape(), 24);
  Decoded<F16> narrow(q.shape(), 24);
  run(wide.outputs());
  run(narrow.outputs());
  EXPECT_TRUE(wide.out.template copy<TypeParam>().same_bits(both.out));
  EXPECT_TRUE(narrow.out.same_bits(wide.out.template copy<F16>()));
}

// A weight of 2^-120 and a value of 1.27 make an output far above the smallest normal number; with
// the scale of int8, 0.01, in place of the value they do not.
TEST(DecodeIntegers, SmallWeightsAreNotLostToTheScale) {
  Inputs<float> tokens{TestTensor<float>(), TestTensor<float>({1, 1, 20, 32}),
                       TestTensor<float>({1, 1, 20, 32})};
  for_each_index(tokens.k.shape(), [&](auto, auto, auto key, auto d) {
    tokens.k.at(0, 0, key, d) = key > 0 && d == 0 ? -83.18F : 0;
    tokens.v.at(0, 0, key, d) = key > 0 || d == 0 ? 1.27F : 0;
  });
  TestTensor<float> q({1, 1, 1, 32});
  for_each_index(q.shape(), [&](auto, auto, auto, auto d) { q.at(0, 0, 0, d) = d == 0; });
  Options call;
  call.scale = 1;
  for (const KvType v : kKvTypes) {
    SCOPED_TRACE(kv_type_name(v));
    const Cached cached = make_cached(cache_of(KvType::f32, v, 32, 32), {tokens});
    EXPECT_TRUE(matches_oracle(cached, q, call, run_decode(cached, q, call)));
  }
}

}  // namespace
}  // namespace regard::test
