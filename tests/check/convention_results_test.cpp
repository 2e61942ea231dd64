// Conventions that show in results rather than in steps: layouts, empty rows, the LSE; and results
// that follow no convention.
#include <cmath>

#include "check/judged.h"
#include "support/loops.h"

namespace regard::test {
namespace {

constexpr ProblemShape kShape{2, 3, 1, 6, 9, 16, 8};

std::string name_of(const Inputs<float>& in, const Options& options, const ConstTensor& out,
                    const ConstTensor& lse) {
  CheckReport report;
  const Status status = check(in.q.view(), in.k.view(), in.v.view(), options, out, lse, {}, report);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_FALSE(report.passed);
  return report.convention.name;
}

/// Memory of `tensor` read as if it were dense in (B, H, S, D).
ConstTensor misread(const TestTensor<float>& tensor) {
  return view(tensor.data(), tensor.shape());
}

LoopResult<float> loops_of(const ProblemShape& shape, const Inputs<float>& in,
                           const Options& options) {
  const Loops<double> loops(shape, options);
  return run_loops(loops, in);
}

TEST(ConventionResults, ResultsInAnotherLayout) {
  const auto in = random_inputs<float>(kShape, 1);
  const auto right = loops_of(kShape, in, {});
  const auto bshd = right.out.copy(Layout::bshd), bhds = right.out.copy(Layout::transposed);
  const auto lse = right.lse.copy(Layout::bshd);
  EXPECT_EQ(name_of(in, {}, misread(bshd), right.lse.view()), "layout=out_bshd");
  EXPECT_EQ(name_of(in, {}, misread(bhds), right.lse.view()), "layout=out_bhds");
  EXPECT_EQ(name_of(in, {}, right.out.view(), misread(lse)), "layout=lse_bsh");
  const ConstTensor as_bshd = view_bshd(right.out.data(), right.out.shape());
  EXPECT_EQ(name_of(in, {}, as_bshd, right.lse.view()), "layout=out_bhsd");
}

// Read as (B, S, H, D), the wrong number is only another row's.
TEST(ConventionResults, OneWrongPlaceAmongEqualOnesIsNoLayout) {
  const ProblemShape shape{1, 4, 1, 64, 9, 4, 4};
  auto in = random_inputs<float>(shape, 8);
  for_each_index(in.v.shape(), [&](auto b, auto h, auto j, auto d) { in.v.at(b, h, j, d) = 1.5F; });
  auto result = loops_of(shape, in, {});
  result.out.at(0, 1, 20, 2) = 9;
  EXPECT_EQ(name_of(in, {}, result.out.view(), {}), "");
}

TEST(ConventionResults, InputsInAnotherLayout) {
  // What the kernel sees: the same memory, read as (B, S, H, D).
  const auto in = random_inputs<float>(kShape, 2);
  const auto seen = [](const TestTensor<float>& memory) {
    TestTensor<float> other(memory.shape(), Layout::bshd);
    std::copy_n(memory.data(), element_count(memory.shape()), other.data());
    return other;
  };
  const Inputs<float> theirs{seen(in.q), seen(in.k), seen(in.v)};
  const auto result = loops_of(kShape, theirs, {});
  EXPECT_EQ(name_of(in, {}, result.out.view(), result.lse.view()), "layout=inputs_bshd");
  const auto bshd = result.out.copy(Layout::bshd);
  EXPECT_EQ(name_of(in, {}, misread(bshd), result.lse.view()), "layout=bshd");
  const auto transposed = [](const TestTensor<float>& memory) {
    TestTensor<float> other(memory.shape(), Layout::transposed);
    std::copy_n(memory.data(), element_count(memory.shape()), other.data());
    return other;
  };
  const Inputs<float> turned{transposed(in.q), transposed(in.k), transposed(in.v)};
  const auto other = loops_of(kShape, turned, {});
  EXPECT_EQ(name_of(in, {}, other.out.view(), other.lse.view()), "layout=inputs_bhds");
}

template <class T>
TestTensor<T> exchanged(const TestTensor<T>& x) {
  const auto [b, h, s, d] = x.shape();
  TestTensor<T> other({b, s, h, d});
  for_each_index(x.shape(),
                 [&](auto n, auto i, auto j, auto c) { other.at(n, j, i, c) = x.at(n, i, j, c); });
  return other;
}

TEST(ConventionResults, HeadsTakenForRows) {
  // Rows become heads, so there have to be as many rows as keys.
  const ProblemShape square{2, 3, 1, 6, 6, 16, 8}, theirs{2, 6, 1, 3, 3, 16, 8};
  const auto same = random_inputs<float>(square, 4);
  const Inputs<float> seen{exchanged(same.q), exchanged(same.k), exchanged(same.v)};
  const auto result = loops_of(theirs, seen, {});
  EXPECT_EQ(name_of(same, {}, exchanged(result.out).view(), exchanged(result.lse).view()),
            "layout=exchanged");
}

// Weights of that layout have other rows and keys: they are not tried, nor looked at.
TEST(ConventionResults, HeadsTakenForRowsBesideWrongWeights) {
  const ProblemShape square{2, 3, 1, 6, 6, 16, 8};
  const auto in = random_inputs<double>(square, 4);
  const Inputs<double> seen{exchanged(in.q), exchanged(in.k), exchanged(in.v)};
  const auto result = oracle_result(seen, {});
  TestTensor<double> weights(square.weights());
  for_each_index(weights.shape(), [&](auto b, auto h, auto i, auto j) {
    weights.at(b, h, i, j) = i == 2 && j == 5 ? NAN : 0.25;
  });
  CheckSettings settings;
  settings.weights = weights.view();
  EXPECT_EQ(judge(in, {}, exchanged(result.out), exchanged(result.lse), settings).convention.name,
            "layout=exchanged");
}

class EmptyRows : public testing::Test {
 protected:
  EmptyRows() { options.causal = Causal::bottom_right; }
  template <class F>
  void for_each_empty(const F& f) {
    for_each_index(shape.out(), [&](auto b, auto h, auto i, auto d) {
      if (i < 4) f(b, h, i, d);
    });
  }
  std::string name() { return name_of(in, options, result.out.view(), result.lse.view()); }

  const ProblemShape shape{1, 2, 1, 9, 5, 4, 3};
  Options options;
  Inputs<float> in = random_inputs<float>(shape, 5);
  LoopResult<float> result = [this] {
    Options asked;
    asked.causal = Causal::bottom_right;
    return loops_of(shape, in, asked);
  }();
};

TEST_F(EmptyRows, AsTheMeanOfAllValues) {
  for_each_empty([&](auto b, auto h, auto i, auto d) {
    double mean = 0;
    for (std::int64_t j = 0; j < 5; ++j) mean += double(in.v.at(b, h, j, d)) / 5;
    result.out.at(b, h, i, d) = float(mean);
    result.lse.at(b, h, i, 0) = -1e9F;
  });
  EXPECT_EQ(name(), "empty=mean");
}

TEST_F(EmptyRows, AsNaN) {
  for_each_empty(
      [&](auto b, auto h, auto i, auto d) { result.out.at(b, h, i, d) = std::nanf(""); });
  EXPECT_EQ(name(), "empty=nan");
}

TEST_F(EmptyRows, WithAnLseOfInfinity) {
  for_each_empty([&](auto b, auto h, auto i, auto) { result.lse.at(b, h, i, 0) = HUGE_VALF; });
  EXPECT_EQ(name(), "empty=lse_inf");
}

TEST(ConventionResults, AnLseWithoutTheScaleOrTheSink) {
  const auto in = random_inputs<float>(kShape, 6);
  const auto right = loops_of(kShape, in, {});
  Options unscaled;
  unscaled.scale = 1;
  const auto other = loops_of(kShape, in, unscaled);
  EXPECT_EQ(name_of(in, {}, right.out.view(), other.lse.view()), "lse=unscaled");
  const double sinks[] = {0.5, -1, 2};
  Options with_sinks;
  with_sinks.sinks = view_per_head(sinks, 3);
  const auto sunk = loops_of(kShape, in, with_sinks);
  EXPECT_EQ(name_of(in, with_sinks, sunk.out.view(), right.lse.view()), "lse=without_sink");
}

TEST(ConventionResults, NoiseFollowsNothing) {
  const auto in = random_inputs<float>(kShape, 7);
  auto right = loops_of(kShape, in, {});
  const auto noise = normal_tensor<float>(kShape.out(), 8);
  EXPECT_EQ(name_of(in, {}, noise.view(), {}), "");
  right.out.at(1, 2, 3, 4) += 0.1F;
  EXPECT_EQ(name_of(in, {}, right.out.view(), right.lse.view()), "") << "one wrong number";
}

TEST(ConventionResults, ARightResultHasNoOther) {
  const auto in = random_inputs<float>(kShape, 9);
  const auto right = loops_of(kShape, in, {});
  const CheckReport report = judge(in, {}, right.out, right.lse);
  EXPECT_TRUE(report.passed);
  EXPECT_EQ(report.convention.name, "");
}

TEST(ConventionResults, TheSearchCanBeLeftOut) {
  const auto in = random_inputs<float>(kShape, 10);
  Options unscaled;
  unscaled.scale = 1;
  const auto wrong = loops_of(kShape, in, unscaled);
  CheckSettings settings;
  settings.find_convention = false;
  const CheckReport report = judge(in, {}, wrong.out, wrong.lse, settings);
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(report.convention.name, "");
}

}  // namespace
}  // namespace regard::test
