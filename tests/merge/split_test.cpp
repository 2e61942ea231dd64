// Keys split into parts, attended to one by one and merged, against the oracle of the whole: within
// what the parts' bounds and `merge_error` allow together.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "merge/parts.h"
#include "regard/attention.h"
#include "regard/check.h"
#include "support/inputs.h"

namespace regard::test {
namespace {

/// Keys [begin, end) of a view.
ConstTensor keys(ConstTensor tensor, std::int64_t begin, std::int64_t end) {
  tensor.data = static_cast<const std::byte*>(tensor.data) +
                begin * tensor.strides[2] * element_bytes(tensor.dtype);
  tensor.shape[2] = end - begin;
  return tensor;
}

/// One problem cut into parts; causal rows keep their positions.
template <class T>
class Split {
 public:
  Split(const ProblemShape& shape, const Options& options, std::vector<std::int64_t> cuts,
        std::uint64_t seed)
      : shape_(shape),
        in_(random_inputs<T>(shape, seed)),
        cuts_(std::move(cuts)),
        bound_(error_bound(DTypeOf<T>::value, DTypeOf<T>::value, shape.d, options)) {
    EXPECT_TRUE(whole_.prepare(in_.q.view(), in_.k.view(), in_.v.view(), options).ok());
    const std::size_t count = cuts_.size() - 1;
    offsets_.resize(count);
    oracles_.resize(count);
    for (std::size_t n = 0; n < count; ++n) add_part(n, options);
  }

  std::vector<Part> parts() const { return results_.parts(); }

  /// The largest error of the merge in units of what is allowed; above 1 fails.
  double worst(const Merged<T>& merged, const std::vector<double>& sinks) const {
    double worst = 0;
    for (std::int64_t b = 0; b < shape_.batch; ++b) {
      for (std::int64_t h = 0; h < shape_.heads(); ++h) {
        for (std::int64_t i = 0; i < shape_.sq; ++i) {
          const double sink = sinks.empty() ? kNone : sinks[std::size_t(h)];
          worst = std::max(worst, worst_of_row(merged, {b, h, i}, sink));
        }
      }
    }
    return worst;
  }

 private:
  struct Row {
    std::int64_t b, h, i;
  };

  void add_part(std::size_t n, Options options) {
    offsets_[n] = (options.causal == Causal::bottom_right ? shape_.skv - shape_.sq : 0) - cuts_[n];
    if (options.causal != Causal::none) options.q_offset = {&offsets_[n], 1};
    const ConstTensor k = keys(in_.k.view(), cuts_[n], cuts_[n + 1]);
    const ConstTensor v = keys(in_.v.view(), cuts_[n], cuts_[n + 1]);
    results_.out.emplace_back(shape_.out());
    results_.lse.emplace_back(shape_.lse());
    Outputs outputs;
    outputs.out = results_.out.back().tensor();
    outputs.lse = results_.lse.back().tensor();
    const Status status = forward(Context(1), in_.q.view(), k, v, outputs, options);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(oracles_[n].prepare(in_.q.view(), k, v, options).ok());
  }

  /// What part n brings to column d of a row, by the bound of its own problem.
  PartElement element(std::size_t n, const Row& row, const OracleRow& exact, std::int64_t d) const {
    const auto [b, h, i] = row;
    return {.out = double(results_.out[n].at(b, h, i, d)),
            .out_error = out_bound(bound_, exact, d),
            .lse = double(results_.lse[n].at(b, h, i, 0)),
            .lse_error = exact.visible == 0 ? 0 : lse_bound(bound_, exact)};
  }

  double worst_of_row(const Merged<T>& merged, const Row& row, double sink) const {
    const auto [b, h, i] = row;
    constexpr DType dtype = DTypeOf<T>::value;
    // What the oracle of the whole may be off by itself: s - m in weight and sum, exp, division,
    // product, and the logarithm.
    constexpr ScoreError kOracle{.unit = 0x1p-53, .constant = 4, .distance = 1};
    OracleRow whole;
    EXPECT_TRUE(whole_.row(b, h, i, whole, kOracle).ok());
    std::vector<OracleRow> exact(oracles_.size());
    for (std::size_t n = 0; n < oracles_.size(); ++n) {
      EXPECT_TRUE(oracles_[n].row(b, h, i, exact[n], bound_.score).ok());
    }
    // A sink takes its share of a row without one.
    const double lse = with_sink(whole.lse, sink);
    const double share = lse == kNone ? 0 : std::exp(whole.lse - lse);
    std::vector<PartElement> elements(oracles_.size());
    double worst = 0;
    MergeError error;
    for (std::int64_t d = 0; d < shape_.dv; ++d) {
      const auto at = std::size_t(d);
      for (std::size_t n = 0; n < exact.size(); ++n) elements[n] = element(n, row, exact[n], d);
      error = merge_error(elements, sink, dtype, dtype);
      const double oracle_error =
          whole.out_error[at] + std::abs(whole.out[at]) * whole.weight_error;
      worst = std::max(worst, units(double(merged.out.at(b, h, i, d)), share * whole.out[at],
                                    error.out + share * oracle_error));
    }
    const double oracle_error = whole.weight_error + 0x1p-52 * std::abs(whole.lse);
    return std::max(worst, units(double(merged.lse.at(b, h, i, 0)), lse, error.lse + oracle_error));
  }

  static double with_sink(double lse, double sink) {
    const double larger = std::max(lse, sink);
    if (larger == kNone) return kNone;
    return larger + std::log(std::exp(lse - larger) + std::exp(sink - larger));
  }

  static double units(double actual, double expected, double allowed) {
    if (actual == expected) return 0;
    const double units = std::abs(actual - expected) / allowed;
    return std::isfinite(units) ? units : -kNone;
  }

  ProblemShape shape_;
  Inputs<T> in_;
  std::vector<std::int64_t> cuts_, offsets_;
  ErrorBound bound_;
  Oracle whole_;
  std::deque<Oracle> oracles_;
  Parts<T> results_;
};

/// 0, some places between that may coincide, and the end.
std::vector<std::int64_t> random_cuts(std::int64_t skv, int parts, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<std::int64_t> cuts = {0, skv};
  for (int n = 1; n < parts; ++n) {
    cuts.push_back(n == 3 ? cuts.back()
                          : std::uniform_int_distribution<std::int64_t>(0, skv)(engine));
  }
  std::ranges::sort(cuts);
  return cuts;
}

template <class T>
class SplitKeys : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(SplitKeys, Types);

constexpr ProblemShape kSplitShapes[] = {
    {1, 1, 1, 9, 1, 8, 5},     {1, 1, 1, 5, 2, 1, 1},      {2, 2, 2, 7, 40, 16, 12},
    {1, 1, 3, 21, 17, 32, 32}, {1, 2, 1, 13, 501, 64, 40},
};

TYPED_TEST(SplitKeys, MergeToTheWhole) {
  double worst = 0;
  for (const ProblemShape& shape : kSplitShapes) {
    for (int parts = 1; parts <= 7; ++parts) {
      for (const Causal causal : {Causal::none, Causal::top_left, Causal::bottom_right}) {
        Options options;
        options.causal = causal;
        const std::uint64_t seed = std::uint64_t(parts) + 10;
        const Split<TypeParam> split(shape, options, random_cuts(shape.skv, parts, seed), seed);
        const double units = split.worst(run_merge<TypeParam>(split.parts()), {});
        EXPECT_LE(units, 1) << shape << " parts " << parts << " causal " << int(causal);
        worst = std::max(worst, units);
      }
    }
  }
  this->RecordProperty("worst_units", std::to_string(worst));
}

TYPED_TEST(SplitKeys, MergeWithSinks) {
  const ProblemShape shape{2, 2, 2, 7, 40, 16, 12};
  const std::vector<double> logits = {-3, 0.5, 40, kNone};
  std::vector<TypeParam> sinks(logits.begin(), logits.end());
  for (int parts = 1; parts <= 4; ++parts) {
    Options options;
    options.causal = Causal::top_left;
    options.scale = 2;
    const Split<TypeParam> split(shape, options, random_cuts(40, parts, 3), 5);
    const auto merged = run_merge<TypeParam>(split.parts(), view_per_head(sinks.data(), 4));
    EXPECT_LE(split.worst(merged, logits), 1) << parts;
    // What forgets them is far outside.
    EXPECT_GT(split.worst(run_merge<TypeParam>(split.parts()), logits), 1000) << parts;
  }
}

// Large scores: what an lse in the element type loses is most of the error.
TYPED_TEST(SplitKeys, MergeOfLargeScores) {
  Options options;
  options.scale = 20;
  const Split<TypeParam> split({1, 1, 1, 30, 64, 16, 8}, options, {0, 10, 31, 64}, 8);
  EXPECT_LE(split.worst(run_merge<TypeParam>(split.parts()), {}), 1);
}

/// The merge in long double of parts as they are.
double exact_out(const std::vector<double>& lse, const std::vector<double>& out) {
  long double sum = 0, total = 0;
  for (std::size_t n = 0; n < lse.size(); ++n) {
    const long double weight = std::exp(static_cast<long double>(lse[n]) - lse[0]);
    sum += weight;
    total += weight * out[n];
  }
  return double(total / sum);
}

// The bound is no looser than need be: an lse stored in f32 costs u |lse|, and does reach a good
// part of it.
TEST(StoredLse, CostsItsRoundoff) {
  std::mt19937_64 engine(1);
  std::uniform_real_distribution<double> level(-2000, 2000), gap(-2, 2);
  double worst = 0;
  for (int n = 0; n < 2000; ++n) {
    const double first = level(engine);
    const std::vector<double> lse = {first, first + gap(engine)}, out = {1, -1};
    const float stored[] = {float(lse[0]), float(lse[1])};
    const Shape one{1, 1, 1, 1};
    const Part parts[] = {{view(&out[0], one), view(&stored[0], one)},
                          {view(&out[1], one), view(&stored[1], one)}};
    double merged = 0;
    ASSERT_TRUE(merge(parts, {}, view(&merged, one), {}).ok());
    PartElement elements[2];
    for (std::size_t p = 0; p < 2; ++p) {
      elements[p] = {.out = out[p], .lse = stored[p], .lse_error = 0x1p-24 * std::abs(lse[p])};
    }
    const double allowed = merge_error(elements, kNone, DType::f64, DType::f64).out;
    worst = std::max(worst, std::abs(merged - exact_out(lse, out)) / allowed);
  }
  EXPECT_LE(worst, 1);
  EXPECT_GE(worst, 0.8);
}

// Nothing but the merge's own roundings: parts exact as they stand.
TEST(OwnError, StaysWithinTheBound) {
  std::mt19937_64 engine(2);
  std::normal_distribution<double> normal;
  double worst = 0;
  for (int n = 0; n < 2000; ++n) {
    const std::size_t count = 2 + std::size_t(n) % 6;
    std::vector<double> lse, out;
    std::vector<Part> parts;
    std::vector<PartElement> elements;
    for (std::size_t p = 0; p < count; ++p) {
      lse.push_back(10 * normal(engine));
      out.push_back(1 + 0.1 * normal(engine));
      elements.push_back({.out = out[p], .lse = lse[p]});
    }
    for (std::size_t p = 0; p < count; ++p) {
      parts.push_back({view(&out[p], {1, 1, 1, 1}), view(&lse[p], {1, 1, 1, 1})});
    }
    double merged = 0;
    ASSERT_TRUE(merge(parts, {}, view(&merged, {1, 1, 1, 1}), {}).ok());
    const double allowed = merge_error(elements, kNone, DType::f64, DType::f64).out;
    worst = std::max(worst, std::abs(merged - exact_out(lse, out)) / allowed);
  }
  EXPECT_LE(worst, 1);
  EXPECT_GE(worst, 0.02);
}

}  // namespace
}  // namespace regard::test
