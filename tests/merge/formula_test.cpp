// What a merge gives, on small numbers with known answers.
#include <cmath>

#include "merge/parts.h"
#include "regard/half.h"

namespace regard::test {
namespace {

/// Parts of one row and two columns.
Parts<double> one_row(const std::vector<double>& lse, const std::vector<double>& out) {
  Parts<double> result;
  for (std::size_t n = 0; n < lse.size(); ++n) {
    result.out.emplace_back(Shape{1, 1, 1, 2});
    result.lse.emplace_back(Shape{1, 1, 1, 1});
    result.out.back().at(0, 0, 0, 0) = out[2 * n];
    result.out.back().at(0, 0, 0, 1) = out[2 * n + 1];
    result.lse.back().at(0, 0, 0, 0) = lse[n];
  }
  return result;
}

TEST(Merge, WeighsPartsByTheirSums) {
  const auto parts = one_row({std::log(1.0), std::log(3.0)}, {4, 0, 8, -4});
  const auto merged = run_merge<double>(parts.parts());
  EXPECT_NEAR(merged.out.at(0, 0, 0, 0), 7, 1e-14);
  EXPECT_NEAR(merged.out.at(0, 0, 0, 1), -3, 1e-14);
  EXPECT_NEAR(merged.lse.at(0, 0, 0, 0), std::log(4.0), 1e-15);
}

TEST(Merge, GivesOnePartBackBitForBit) {
  Parts<double> part(1, {2, 3, 5, 7}, 1);
  part.out[0].at(0, 0, 0, 0) = -0.0;
  const auto merged = run_merge<double>(part.parts());
  EXPECT_TRUE(merged.out.same_bits(part.out[0]) && merged.lse.same_bits(part.lse[0]));
}

TEST(Merge, NeverOverflowsOnTheWay) {
  const double huge = std::numeric_limits<double>::max();
  const auto merged = run_merge<double>(one_row({1e300, 1e300}, {huge, 1, huge, 3}).parts());
  EXPECT_EQ(merged.out.at(0, 0, 0, 0), huge);
  EXPECT_EQ(merged.out.at(0, 0, 0, 1), 2);
  EXPECT_EQ(merged.lse.at(0, 0, 0, 0), 1e300);
}

TEST(Merge, LooksAtNothingInEmptyParts) {
  const auto merged =
      run_merge<double>(one_row({kNone, 2, kNone}, {kNaN, kNaN, 5, 6, 1, 1}).parts());
  EXPECT_EQ(merged.out.at(0, 0, 0, 0), 5);
  EXPECT_EQ(merged.out.at(0, 0, 0, 1), 6);
  EXPECT_EQ(merged.lse.at(0, 0, 0, 0), 2);
}

TEST(Merge, OfEmptyPartsIsEmpty) {
  const auto merged = run_merge<double>(one_row({kNone, kNone}, {0, 0, 0, 0}).parts());
  EXPECT_EQ(merged.out.at(0, 0, 0, 0), 0);
  EXPECT_EQ(merged.lse.at(0, 0, 0, 0), kNone);
}

TEST(Merge, AddsSinksOnceToTheDenominator) {
  const double sinks[] = {std::log(4.0)};
  const ConstTensor sink = view_per_head(sinks, 1);
  const auto merged =
      run_merge<double>(one_row({std::log(1.0), std::log(3.0)}, {4, 0, 8, -4}).parts(), sink);
  EXPECT_NEAR(merged.out.at(0, 0, 0, 0), 3.5, 1e-14);
  EXPECT_NEAR(merged.lse.at(0, 0, 0, 0), std::log(8.0), 1e-15);

  const auto empty = run_merge<double>(one_row({kNone, kNone}, {1, 1, 1, 1}).parts(), sink);
  EXPECT_EQ(empty.out.at(0, 0, 0, 1), 0);
  EXPECT_EQ(empty.lse.at(0, 0, 0, 0), sinks[0]);
}

TEST(Merge, TakesAnInfinitelyLowSinkForNone) {
  const double none[] = {kNone, kNone, kNone};
  const Parts<double> parts(3, {2, 3, 5, 7}, 1);
  const auto without = run_merge<double>(parts.parts());
  const auto with = run_merge<double>(parts.parts(), view_per_head(none, 3));
  EXPECT_TRUE(with.out.same_bits(without.out) && with.lse.same_bits(without.lse));
}

TEST(Merge, SpoilsOnlyTheRowsOfSpoiltNumbers) {
  const Shape shape{1, 2, 6, 3};
  const Parts<double> clean(2, shape, 9);
  const auto expected = run_merge<double>(clean.parts());
  Parts<double> spoilt = clean;
  spoilt.lse[1].at(0, 0, 1, 0) = kNaN;
  spoilt.lse[0].at(0, 0, 3, 0) = -kNone;
  spoilt.out[1].at(0, 1, 2, 1) = kNaN;
  spoilt.lse[1].at(0, 1, 4, 0) = -1e6;  // its weight is 0, but it is seen
  spoilt.out[1].at(0, 1, 4, 2) = kNone;
  const auto merged = run_merge<double>(spoilt.parts());
  for_each_index(shape, [&](auto b, auto h, auto i, auto d) {
    const double got = merged.out.at(b, h, i, d);
    if (h == 0 && (i == 1 || i == 3)) {
      EXPECT_TRUE(std::isnan(got) && std::isnan(merged.lse.at(b, h, i, 0))) << i;
    } else if (h == 1 && ((i == 2 && d == 1) || (i == 4 && d == 2))) {
      EXPECT_TRUE(std::isnan(got)) << i;
    } else if (h == 0 || i != 4) {
      EXPECT_EQ(got, expected.out.at(b, h, i, d)) << i;
      EXPECT_EQ(merged.lse.at(b, h, i, 0), expected.lse.at(b, h, i, 0));
    }
  });
  const double sinks[] = {0, kNaN};
  const auto sunk =
      run_merge<double>(one_row({1, kNone}, {1, 2, 3, 4}).parts(), view_per_head(sinks + 1, 1));
  EXPECT_TRUE(std::isnan(sunk.out.at(0, 0, 0, 0)) && std::isnan(sunk.lse.at(0, 0, 0, 0)));
}

TEST(Merge, MayReplaceAPart) {
  const Shape shape{2, 2, 5, 300};
  Parts<float> parts(3, shape, 4);
  const auto expected = run_merge<float>(parts.parts());
  const Status status = merge(parts.parts(), {}, parts.out[1].tensor(), parts.lse[2].tensor());
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(parts.out[1].same_bits(expected.out) && parts.lse[2].same_bits(expected.lse));
}

TEST(Merge, GivesEitherOutputAlone) {
  const Parts<float> parts(3, {2, 2, 5, 7}, 4);
  const auto expected = run_merge<float>(parts.parts());
  TestTensor<float> out({2, 2, 5, 7}), lse({2, 2, 5, 1});
  EXPECT_TRUE(merge(parts.parts(), {}, out.tensor(), {}).ok());
  auto without_out = parts.parts();
  for (Part& part : without_out) part.out = {&part, DType(99), {-1, 0, 1, 2}, {1, 1, 1, 1}};
  EXPECT_TRUE(merge(without_out, {}, {}, lse.tensor()).ok());
  EXPECT_TRUE(out.same_bits(expected.out) && lse.same_bits(expected.lse));
}

// Parts and results of four types at once: halves and quarters are exact in each of them.
TEST(Merge, ReadsAndWritesEveryFloatType) {
  const double out64[] = {1, -2};
  const float out32[] = {3, 0.5};
  const F16 out16[] = {to_f16(-1), to_f16(0.25)};
  const BF16 out_b16[] = {to_bf16(5), to_bf16(2)};
  const double lse64[] = {0};
  const float lse32[] = {0};
  const Shape shape{1, 1, 1, 2}, rows{1, 1, 1, 1};
  const Part parts[] = {{view(out64, shape), view(lse64, rows)},
                        {view(out32, shape), view(lse32, rows)},
                        {view(out16, shape), view(lse64, rows)},
                        {view(out_b16, shape), view(lse32, rows)}};
  F16 f16[2];
  BF16 bf16[2];
  float f32[2];
  for (const Tensor& out : {view(f16, shape), view(bf16, shape), view(f32, shape)}) {
    EXPECT_TRUE(merge(parts, {}, out, {}).ok());
  }
  const float expected[] = {2, 0.1875};
  for (int d = 0; d < 2; ++d) {
    EXPECT_EQ(to_float(f16[d]), expected[d]);
    EXPECT_EQ(to_float(bf16[d]), expected[d]);
    EXPECT_EQ(f32[d], expected[d]);
  }
}

TEST(Base2, GoesThereAndBack) {
  EXPECT_EQ(lse_to_base2(0), 0);
  EXPECT_EQ(lse_to_base2(kNone), kNone);
  EXPECT_EQ(lse_from_base2(kNone), kNone);
  EXPECT_NEAR(lse_to_base2(std::log(8.0)), 3, 4.5e-16);
  // Each way rounds a constant and a product.
  for (const double lse : {1e-300, 0.1, 3.7, -88.25, 1e5, 1e300}) {
    EXPECT_NEAR(lse_from_base2(lse_to_base2(lse)), lse, 0x1p-51 * std::abs(lse));
  }
}

}  // namespace
}  // namespace regard::test
