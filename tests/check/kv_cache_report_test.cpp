// What a report says of sequences in a cache, rings too, and of a caller's own memory.
#include "cache/tokens.h"
#include "check/kv_definition.h"

namespace regard::test {
namespace {

KvCacheOptions options_of(KvType k, KvType v) {
  KvCacheOptions options = small_options(20);
  options.k_type = k;
  options.v_type = v;
  options.k_head_size = 32;
  options.v_head_size = 64;
  return options;
}

/// Sequences of random tokens, and their numbers before and after; behind a sequence's end, and in
/// tokens that are gone, both are the guard, a NaN.
struct Filled {
  KvCache cache;
  std::vector<std::int64_t> sequences, lengths;
  TestTensor<float> k, v;

  Filled(const KvCacheOptions& options, std::vector<std::int64_t> counts)
      : cache(make_cache(options)), lengths(std::move(counts)) {
    const auto count = std::int64_t(lengths.size());
    const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
    k = TestTensor<float>({count, options.kv_heads, longest, options.k_head_size});
    v = TestTensor<float>({count, options.kv_heads, longest, options.v_head_size});
    for (std::int64_t n = 0; n < count; ++n) {
      sequences.push_back(added(cache));
      const std::int64_t length = lengths[std::size_t(n)];
      const Tokens tokens = append_random(cache, sequences.back(), length, std::uint64_t(n));
      keep(tokens.k, n, k);
      keep(tokens.v, n, v);
    }
  }

  bool held(std::int64_t n, std::int64_t token) const {
    const std::int64_t from = cache.held_from(sequences[std::size_t(n)]);
    return token < lengths[std::size_t(n)] && (token < cache.options().keep_first || token >= from);
  }

  void keep(const TestTensor<float>& tokens, std::int64_t n, TestTensor<float>& all) const {
    for_each_index(tokens.shape(), [&](auto, auto h, auto s, auto d) {
      if (held(n, s)) all.at(n, h, s, d) = tokens.at(0, h, s, d);
    });
  }
};

/// Loops over what the definition of the types says, with `sees` as it has to be.
void expect_report(const Filled& filled, const TestTensor<float>& q, const Options& options,
                   const KvReport& report) {
  const KvCacheOptions& cached = filled.cache.options();
  const std::int64_t batch = q.shape()[0], group = q.shape()[1] / cached.kv_heads;
  const ProblemShape shape{batch,
                           cached.kv_heads,
                           group,
                           q.shape()[2],
                           filled.k.shape()[2],
                           cached.k_head_size,
                           cached.v_head_size};
  Options own = options;
  own.kv_len = filled.lengths;
  Loops<long double> loops(shape, own);
  loops.sees = [&](LoopRow r, std::int64_t j) {
    const std::int64_t here = loops.position(r);
    const bool in_window =
        j < cached.keep_first || own.window.left < 0 || j >= here - own.window.left;
    return filled.held(r.b, j) && in_window && (own.causal == Causal::none || j <= here);
  };
  const Inputs<double> exact{q.copy<double>(), filled.k.copy<double>(), filled.v.copy<double>()};
  Inputs<double> stored = exact;
  const auto store = [&](KvType type, TestTensor<double>& numbers) {
    const TestTensor<double> all = stored_numbers(type, numbers);
    for_each_index(numbers.shape(), [&](auto b, auto h, auto s, auto d) {
      if (filled.held(b, s)) numbers.at(b, h, s, d) = all.at(b, h, s, d);
    });
  };
  store(cached.k_type, stored.k);
  store(cached.v_type, stored.v);
  expect_defined({exact, stored, loops}, report);
}

KvReport report_of(const Filled& filled, const TestTensor<float>& q, const Options& options = {}) {
  KvReport report;
  const Status status = report_kv(q.view(), filled.k.view(), filled.v.view(), filled.cache,
                                  filled.sequences, options, {}, report);
  EXPECT_TRUE(status.ok()) << status.message();
  return report;
}

TEST(KvCacheReport, OfSequencesOfSeveralLengths) {
  const Filled filled(options_of(KvType::int8_32, KvType::q4_0), {37, 1, 50});
  const auto q = normal_tensor<float>({3, 4, 2, 32}, 9);
  Options options;
  options.causal = Causal::bottom_right;
  expect_report(filled, q, options, report_of(filled, q, options));
  options.path = Path::decode;
  EXPECT_EQ(report_of(filled, q, options).rows.size(), 24U);
}

TEST(KvCacheReport, OfRings) {
  for (const std::int64_t keep_first : {0, 5}) {
    KvCacheOptions cached = options_of(KvType::fp8_e4m3, KvType::int8);
    cached.window = 20;
    cached.keep_first = keep_first;
    const Filled filled(cached, {70, 3, 24});
    const auto q = normal_tensor<float>({3, 2, 3, 32}, 9);
    for (const Window window : {Window{}, Window{4, -1}}) {
      SCOPED_TRACE(testing::Message() << keep_first << " kept, window " << window.left);
      Options options;
      options.causal = Causal::bottom_right;
      options.window = window;
      expect_report(filled, q, options, report_of(filled, q, options));
    }
  }
}

TEST(KvCacheReport, OfTheSameNumbersAsTypes) {
  const KvTypes types{KvType::int4_32, KvType::fp8_e5m2};
  const Filled filled(options_of(types.k, types.v), {40, 40});
  const auto q = normal_tensor<float>({2, 4, 2, 32}, 9);
  KvReport by_types;
  const Status status =
      report_kv(q.view(), filled.k.view(), filled.v.view(), types, {}, {}, by_types);
  ASSERT_TRUE(status.ok()) << status.message();
  const KvReport report = report_of(filled, q);
  for (std::size_t n = 0; n < report.rows.size(); ++n) {
    EXPECT_EQ(report.rows[n].out_error, by_types.rows[n].out_error);
    EXPECT_EQ(report.rows[n].entropy_change, by_types.rows[n].entropy_change);
  }
}

/// One token of one head, whose K is stored by the caller: 4 times 2 where 4 times 3 was meant.
TEST(KvCacheReport, OfACallersOwnScales) {
  std::vector<std::int8_t> k(16 * 32, 0);
  std::vector<float> scales(16, 2), v(16 * 32, 1);
  k[0] = 4;
  KvView view;
  view.k = kv_rows_nhd(k.data(), KvType::int8, 1, 16, 32, scales.data());
  view.v = kv_rows_nhd(v.data(), KvType::f32, 1, 16, 32);
  view.kv_heads = view.pages = 1;
  view.page_tokens = 16;
  const std::int32_t table = 0;
  const std::int32_t* const tables[] = {&table};
  const std::int64_t lengths[] = {1};
  view.page_tables = tables;
  view.lengths = lengths;
  TestTensor<float> q({1, 1, 1, 32}), exact({1, 1, 1, 32});
  for (std::int64_t d = 0; d < 32; ++d) q.at(0, 0, 0, d) = exact.at(0, 0, 0, d) = 0;
  q.at(0, 0, 0, 0) = 1;
  exact.at(0, 0, 0, 0) = 12;
  const TestTensor<float> ones = uniform_tensor<float>({1, 1, 1, 32}, 1, 1, 1);
  Options options;
  options.scale = 0.5;
  KvReport report;
  Status status = report_kv(q.view(), exact.view(), ones.view(), view, options, {}, report);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(report.rows.at(0).logit_shift, 2);  // half of 12 - 8
  EXPECT_EQ(report.rows.at(0).out_error, 0);    // the one key keeps its weight
  view.k.scales = nullptr;
  status = report_kv(q.view(), exact.view(), ones.view(), view, options, {}, report);
  EXPECT_EQ(status.message(), "k.scales: null, but int8 keeps its scales there");
}

TEST(KvCacheReport, WhatIsRefused) {
  const Filled filled(options_of(KvType::int8, KvType::int8), {37, 5});
  const auto q = normal_tensor<float>({2, 4, 2, 32}, 9);
  const auto refused = [&](const ConstTensor& queries, const ConstTensor& k, const KvCache& cache,
                           const Options& options, const char* sentence) {
    KvReport report;
    const Status status =
        report_kv(queries, k, filled.v.view(), cache, filled.sequences, options, {}, report);
    EXPECT_EQ(status.message(), sentence);
  };
  const ConstTensor k = filled.k.view();
  ConstTensor wrong = k;
  wrong.shape[2] = 36;
  refused(q.view(), wrong, filled.cache, {}, "k: shape (2, 2, 36, 32) differs from (2, 2, 37, 32)");
  refused(q.view(), k, KvCache(), {}, "cache: it has not been created");
  refused(q.copy<double>().view(), k, filled.cache, {},
          "q: dtype f64, and caches are computed in f32");
  wrong = q.view();
  wrong.shape[0] = 1;
  refused(wrong, k, filled.cache, {}, "q: batch 1 differs from the cache's 2 sequences");
  Options options;
  const std::int64_t lengths[] = {1, 1};
  options.kv_len = lengths;
  refused(q.view(), k, filled.cache, options,
          "kv_len: 2 numbers beside a cache, which has its own lengths");
}

}  // namespace
}  // namespace regard::test
