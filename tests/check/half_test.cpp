// Results in half types: what rounding them and their weights may cost, and no more.
#include <cmath>

#include "check/right_results.h"

namespace regard::test {
namespace {

constexpr ProblemShape kShape{1, 2, 1, 12, 40, 16, 8};

/// A call in T with results of float loops.
template <class T>
struct HalfCall {
  TestTensor<double> exact_q = normal_tensor<double>(kShape.q(), 1);
  TestTensor<double> exact_k = normal_tensor<double>(kShape.k(), 2);
  TestTensor<double> exact_v = normal_tensor<double>(kShape.v(), 3);
  Narrow<T> q{exact_q}, k{exact_k}, v{exact_v};
  Inputs<float> in{q.template widened<float>(), k.template widened<float>(),
                   v.template widened<float>()};
  LoopResult<float> result = [this] {
    const Loops<float> loops(kShape, {});
    return run_loops(loops, in);
  }();

  CheckReport judged(const ConstTensor& out, const ConstTensor& lse,
                     const Options& options = {}) const {
    CheckReport report;
    const Status status = check(q.view(), k.view(), v.view(), options, out, lse, {}, report);
    EXPECT_TRUE(status.ok()) << status.message();
    return report;
  }
  /// out = sum_j p_j v_j with p_j changed by `change`.
  template <class F>
  TestTensor<float> with_weights(const F& change) const {
    TestTensor<float> out(kShape.out());
    for_each_index(kShape.out(), [&](auto b, auto h, auto i, auto d) {
      float o = 0;
      for (std::int64_t j = 0; j < kShape.skv; ++j)
        o += change(result.weights.at(b, h, i, j)) * in.v.at(b, h, j, d);
      out.at(b, h, i, d) = o;
    });
    return out;
  }
};

template <class T>
void expect_rounded_weights_pass_by_default_only() {
  const HalfCall<T> call;
  const auto rounded = call.with_weights([](float p) { return to_float(narrowed<T>(p)); });
  EXPECT_TRUE(call.judged(rounded.view(), call.result.lse.view()).passed);
  Options high;
  high.precision = Precision::high;
  EXPECT_FALSE(call.judged(rounded.view(), call.result.lse.view(), high).passed);
  EXPECT_TRUE(call.judged(call.result.out.view(), call.result.lse.view(), high).passed);
}

TEST(HalfTypes, RoundedWeightsPassByDefaultOnly) {
  expect_rounded_weights_pass_by_default_only<F16>();
  expect_rounded_weights_pass_by_default_only<BF16>();
}

TEST(HalfTypes, CoarserWeightsFail) {
  const HalfCall<F16> call;
  const auto coarse = call.with_weights([](float p) { return to_float(to_bf16(p)); });
  EXPECT_FALSE(call.judged(coarse.view(), {}).passed) << "bf16 weights for f16";
  const HalfCall<BF16> other;
  const auto coarser = other.with_weights([](float p) {
    const float kept = 0x1p21F * p;  // Veltkamp's split keeps 3 bits
    return kept - (kept - p);
  });
  EXPECT_FALSE(other.judged(coarser.view(), {}).passed);
}

/// Two keys, k and 0, and a result that takes k for 0: q.k is missed.
bool passes_as_zero(double k, const Options& options) {
  const BF16 q = to_bf16(0x1p125F), keys[] = {to_bf16(float(k)), to_bf16(0)};
  const BF16 values[] = {to_bf16(1), to_bf16(0)};
  const float out = 0.5F, lse = std::log(2.0F);
  CheckReport report;
  const Status status =
      check(view(&q, {1, 1, 1, 1}), view(keys, {1, 1, 2, 1}), view(values, {1, 1, 2, 1}), options,
            view(&out, {1, 1, 1, 1}), view(&lse, {1, 1, 1, 1}), {}, report);
  EXPECT_TRUE(status.ok()) << status.message();
  return report.passed;
}

TEST(HalfTypes, SubnormalBf16MayCountAsZeroByDefaultOnly) {
  Options options;
  options.scale = 1;
  EXPECT_TRUE(passes_as_zero(0x1p-127, options));
  EXPECT_TRUE(passes_as_zero(-0x1p-130, options));
  EXPECT_FALSE(passes_as_zero(0x1p-123, options));
  options.precision = Precision::high;
  EXPECT_FALSE(passes_as_zero(0x1p-127, options));
}

TEST(HalfTypes, TheLseKeepsItsDigits) {
  const HalfCall<BF16> call;
  const Narrow<BF16> coarse(call.result.lse);
  const auto widened = coarse.widened<float>();
  EXPECT_FALSE(call.judged(call.result.out.view(), widened.view()).passed);
  EXPECT_TRUE(call.judged(call.result.out.view(), coarse.view()).passed) << "an LSE in bf16";
}

TEST(HalfTypes, PastTheLargestNumberInfinityIsRight) {
  auto in = random_inputs<float>({1, 1, 1, 2, 3, 4, 2}, 4);
  for_each_index(in.v.shape(), [&](auto b, auto h, auto j, auto d) {
    in.v.at(b, h, j, d) = d == 0 ? 7e4F : -7e4F;
  });
  const Loops<float> loops({1, 1, 1, 2, 3, 4, 2}, {});
  Narrow<F16> out(run_loops(loops, in).out);
  EXPECT_EQ(out.values[0].bits, 0x7c00);
  CheckReport report;
  const auto passes = [&] {
    EXPECT_TRUE(check(in.q.view(), in.k.view(), in.v.view(), {}, out.view(), {}, {}, report).ok());
    return report.passed;
  };
  EXPECT_TRUE(passes());
  out.values[0].bits = 0xfc00;
  EXPECT_FALSE(passes()) << "the other infinity";
  out.values[0].bits = 0x7bff;
  EXPECT_FALSE(passes()) << "the largest number";
}

}  // namespace
}  // namespace regard::test
