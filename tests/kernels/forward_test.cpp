// out and lse against the oracle: every shape, layout, alignment, group and head size.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "kernels/engine.h"

namespace regard::test {
namespace {

constexpr Causal kAlignments[] = {Causal::none, Causal::top_left, Causal::bottom_right};

template <class T>
class Forward : public testing::Test {};
using Types = testing::Types<float, double, BF16>;
TYPED_TEST_SUITE(Forward, Types);

TYPED_TEST(Forward, EveryShapeAndAlignment) {
  std::uint64_t seed = 1;
  for (const ProblemShape& shape : kShapes) {
    for (const Causal causal : kAlignments) {
      SCOPED_TRACE(testing::Message() << shape << " causal=" << int(causal));
      const auto in = random_inputs<TypeParam>(shape, ++seed);
      Options options;
      options.causal = causal;
      EXPECT_TRUE(matches_oracle(in, options, run_forward(in, options)));
    }
  }
}

TYPED_TEST(Forward, EveryLayout) {
  const ProblemShape shape{2, 2, 2, 19, 45, 24, 13};
  for (const Layout input : kInputLayouts) {
    for (const Layout output : kOutputLayouts) {
      SCOPED_TRACE(testing::Message() << int(input) << " to " << int(output));
      const auto in = random_inputs<TypeParam>(shape, 5, input);
      Options options;
      options.causal = Causal::bottom_right;
      EXPECT_TRUE(matches_oracle(in, options, run_forward(in, options, one_thread(), output)));
    }
  }
}

TYPED_TEST(Forward, EveryLength) {
  for (const std::int64_t sq : {1, 5, 23, 50}) {
    for (const std::int64_t skv : kLengths) {
      SCOPED_TRACE(testing::Message() << "Sq=" << sq << " Skv=" << skv);
      const auto in = random_inputs<TypeParam>({1, 1, 1, sq, skv, 8, 8}, std::uint64_t(skv));
      Options options;
      options.causal = Causal::bottom_right;
      EXPECT_TRUE(matches_oracle(in, options, run_forward(in, options)));
    }
  }
}

TYPED_TEST(Forward, EveryHeadSizeAndGroup) {
  for (const std::int64_t d : kHeadSizes) {
    for (const std::int64_t group : kGroups) {
      SCOPED_TRACE(testing::Message() << "D=" << d << " group=" << group);
      const auto in = random_inputs<TypeParam>({1, 2, group, 7, 21, d, d}, std::uint64_t(d));
      Options options;
      options.causal = Causal::top_left;
      EXPECT_TRUE(matches_oracle(in, options, run_forward(in, options)));
    }
  }
}

TYPED_TEST(Forward, OffsetsOfEachBatchEntry) {
  const auto in = random_inputs<TypeParam>({5, 1, 2, 30, 60, 16, 16}, 11);
  const std::vector<std::int64_t> offsets = {0, -7, 29, 1000, -1000};
  Options options;
  options.causal = Causal::top_left;
  options.q_offset = offsets;
  EXPECT_TRUE(matches_oracle(in, options, run_forward(in, options)));
  const std::vector<std::int64_t> shared = {-29};
  options.q_offset = shared;
  EXPECT_TRUE(matches_oracle(in, options, run_forward(in, options)));
}

TYPED_TEST(Forward, LongerThanAKeyBlockAndARowItem) {
  const auto in = random_inputs<TypeParam>({1, 1, 1, 803, 1009, 16, 16}, 12);
  for (const Causal causal : kAlignments) {
    Options options;
    options.causal = causal;
    EXPECT_TRUE(matches_oracle(in, options, run_forward(in, options), 200));
  }
}

TYPED_TEST(Forward, HonoursTheScaleAsGiven) {
  const auto in = random_inputs<TypeParam>({1, 1, 1, 33, 70, 16, 8}, 13);
  for (const double scale : {0.0, -0.5, 1.0, 30.0, 1e-30}) {
    SCOPED_TRACE(scale);
    Options options;
    options.scale = scale;
    options.causal = Causal::bottom_right;
    EXPECT_TRUE(matches_oracle(in, options, run_forward(in, options)));
  }
}

// A packed QKV buffer: three views into one allocation, read in place.
TYPED_TEST(Forward, PackedQueriesKeysAndValues) {
  const std::int64_t s = 37, h = 2, d = 16;
  const auto packed = normal_tensor<TypeParam>({1, 1, s, 3 * h * d}, 14);
  const auto part = [&](std::int64_t which) {
    return ConstTensor{packed.data() + which * h * d,
                       DTypeOf<TypeParam>::value,
                       {1, h, s, d},
                       {s * 3 * h * d, d, 3 * h * d, 1}};
  };
  TestTensor<TypeParam> out({1, h, s, d});
  const Status status = forward(one_thread(), part(0), part(1), part(2),
                                {.out = out.tensor(), .lse = {}, .weights = {}});
  ASSERT_TRUE(status.ok()) << status.message();
  CheckReport report;
  ASSERT_TRUE(check(part(0), part(1), part(2), {}, out.view(), {}, {}, report).ok());
  EXPECT_TRUE(report.passed);
}

// One K and V row for every batch entry and key, through strides of 0: the output is that V row.
TYPED_TEST(Forward, ReadsBroadcastInputs) {
  const auto in = random_inputs<TypeParam>({1, 1, 1, 1, 1, 8, 8}, 15);
  const auto broadcast = [](const TestTensor<TypeParam>& tensor, std::int64_t s) {
    return ConstTensor{tensor.data(), DTypeOf<TypeParam>::value, {3, 2, s, 8}, {0, 0, 0, 1}};
  };
  TestTensor<TypeParam> out({3, 2, 5, 8});
  const Status status =
      forward(one_thread(), broadcast(in.q, 5), broadcast(in.k, 200), broadcast(in.v, 200),
              {.out = out.tensor(), .lse = {}, .weights = {}});
  ASSERT_TRUE(status.ok()) << status.message();
  CheckReport report;
  ASSERT_TRUE(check(broadcast(in.q, 5), broadcast(in.k, 200), broadcast(in.v, 200), {}, out.view(),
                    {}, {}, report)
                  .ok());
  EXPECT_TRUE(report.passed) << report.worst_units;
}

}  // namespace
}  // namespace regard::test
