// The oracle against plain loops in long double, in every layout, and what it refuses.
#include <gtest/gtest.h>

#include <cmath>

#include "oracle/rows.h"
#include "support/plain.h"

namespace regard::test {
namespace {

/// Two f64 roundings of a sum of this magnitude.
constexpr double kRoundings = 0x1p-52;

template <class T>
void expect_plain(const ProblemShape& shape, const Options& options) {
  const auto in = random_inputs<T>(shape, 1);
  const auto exact = in.template copy<double>();
  const auto plain = plain_attention<long double>(exact, options);
  Oracle oracle;
  ASSERT_TRUE(oracle.prepare(in.q.view(), in.k.view(), in.v.view(), options).ok());
  ASSERT_EQ(oracle.out_shape(), shape.out());
  OracleRow row;
  const auto compare = [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t) {
    ASSERT_TRUE(oracle.row(b, h, i, row).ok());
    ASSERT_EQ(std::int64_t(row.out.size()), shape.dv);
    ASSERT_EQ(std::int64_t(row.weights.size()), shape.skv);
    const double spread = 1 + 2 * row.spread;
    for (std::int64_t d = 0; d < shape.dv; ++d) {
      const double size = row.out_magnitude[d] * spread;
      ASSERT_NEAR(row.out[d], double(plain.out.at(b, h, i, d)), kRoundings * size);
    }
    std::int64_t visible = 0;
    for (std::int64_t j = 0; j < shape.skv; ++j) {
      visible += sees(options, shape.sq, shape.skv, b, i, j);
      ASSERT_NEAR(row.weights[j], double(plain.weights.at(b, h, i, j)),
                  kRoundings * row.weights[j] * spread);
    }
    ASSERT_EQ(row.visible, visible);
    const double lse = double(plain.lse.at(b, h, i, 0));
    if (visible == 0) {
      ASSERT_EQ(row.lse, lse);
    } else {
      ASSERT_NEAR(row.lse, lse, kRoundings * (1 + std::fabs(lse)));
    }
  };
  for_each_index(shape.lse(), compare);
}

constexpr ProblemShape kSmall[] = {
    {1, 1, 1, 1, 1, 1, 1},   {1, 1, 1, 9, 9, 8, 8},     {2, 2, 3, 5, 7, 3, 5},
    {1, 1, 1, 3, 40, 64, 2}, {1, 2, 2, 33, 17, 40, 9},  {2, 1, 8, 4, 0, 5, 3},
    {0, 1, 1, 4, 4, 8, 8},   {1, 1, 1, 2, 300, 111, 1}, {2, 1, 1, 1, 5, 576, 4},
};

TEST(OracleDefinition, AgreesWithLongDouble) {
  for (const ProblemShape& shape : kSmall) {
    for (const Causal causal : {Causal::none, Causal::top_left, Causal::bottom_right}) {
      SCOPED_TRACE(testing::Message() << shape << " causal " << int(causal));
      Options options;
      options.causal = causal;
      expect_plain<double>(shape, options);
      expect_plain<float>(shape, options);
    }
  }
}

TEST(OracleDefinition, GivenScaleIsUsedAsItIs) {
  for (const double scale : {0.0, -0.7, 1.0, 30.0}) {
    SCOPED_TRACE(scale);
    Options options;
    options.scale = scale;
    options.causal = Causal::bottom_right;
    expect_plain<double>({1, 2, 2, 7, 11, 16, 6}, options);
  }
}

TEST(OracleDefinition, OffsetReplacesTheAlignment) {
  const ProblemShape shape{3, 1, 2, 5, 9, 4, 4};
  const std::vector<std::vector<std::int64_t>> offsets = {
      {0}, {3}, {-2}, {-100}, {100}, {2, -4, 7}, {INT64_MAX / 4}, {-(INT64_MAX / 4)}};
  for (const Causal causal : {Causal::top_left, Causal::bottom_right}) {
    for (const auto& offset : offsets) {
      SCOPED_TRACE(testing::PrintToString(offset));
      Options options;
      options.causal = causal;
      options.q_offset = offset;
      expect_plain<double>(shape, options);
    }
  }
}

template <class T>
void expect_layouts_agree() {
  const auto in = random_inputs<T>({2, 2, 2, 5, 9, 11, 7}, 2);
  Options options;
  options.causal = Causal::bottom_right;
  for (const Layout layout : kInputLayouts) {
    const auto other = in.copy(layout);
    for (std::int64_t i = 0; i < 5; ++i) {
      const auto a = oracle_row(in.q.view(), in.k.view(), in.v.view(), options, 1, 3, i);
      const auto b = oracle_row(other.q.view(), other.k.view(), other.v.view(), options, 1, 3, i);
      EXPECT_EQ(a.out, b.out) << "layout " << int(layout);
      EXPECT_EQ(a.weights, b.weights) << "layout " << int(layout);
      EXPECT_EQ(a.lse, b.lse) << "layout " << int(layout);
    }
  }
}

TEST(OracleDefinition, StridesDoNotMatter) {
  expect_layouts_agree<float>();
  expect_layouts_agree<double>();
}

TEST(OracleDefinition, ZeroStridesRepeat) {
  const auto in = random_inputs<double>({1, 1, 1, 2, 6, 8, 3}, 3);
  ConstTensor k = in.k.view(), v = in.v.view();
  k.strides[2] = 0;
  const OracleRow row = oracle_row(in.q.view(), k, v, {});
  for (const double weight : row.weights) EXPECT_DOUBLE_EQ(weight, 1.0 / 6);
}

TEST(OracleDefinition, RefusesWhatForwardRefuses) {
  const TestTensor<double> q({1, 1, 2, 4}), k({1, 1, 3, 5}), v({1, 1, 3, 4});
  Oracle oracle;
  const Status status = oracle.prepare(q.view(), k.view(), v.view(), {});
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  OracleRow row;
  EXPECT_EQ(oracle.row(0, 0, 0, row).code(), StatusCode::invalid_argument);
}

TEST(OracleDefinition, RefusesRowsOutside) {
  const auto in = random_inputs<double>({2, 1, 3, 4, 5, 2, 2}, 5);
  Oracle oracle;
  ASSERT_TRUE(oracle.prepare(in.q.view(), in.k.view(), in.v.view(), {}).ok());
  OracleRow row;
  EXPECT_TRUE(oracle.row(1, 2, 3, row).ok());
  const std::int64_t outside[][3] = {{-1, 0, 0}, {0, -1, 0}, {0, 0, -1},
                                     {2, 0, 0},  {0, 3, 0},  {0, 0, 4}};
  for (const auto& [b, h, i] : outside) {
    EXPECT_EQ(oracle.row(b, h, i, row).code(), StatusCode::invalid_argument);
  }
}

}  // namespace
}  // namespace regard::test
