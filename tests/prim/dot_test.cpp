// The bf16 dot instruction: what the error bounds and the promise of same bits take for granted.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "prim/unit_probe.h"

namespace regard::test {
namespace {

constexpr int kLanes = 16;
constexpr float kSmallest = std::numeric_limits<float>::min();

class Dot : public testing::Test {
 protected:
  void SetUp() override {
    if (!unit_probes().dot.dot) GTEST_SKIP() << "this ISA has no dot instruction";
  }
};

float widened(std::uint16_t half) {
  return std::bit_cast<float>(std::uint32_t{half} << 16);
}
std::uint32_t pair_of(std::uint16_t low, std::uint16_t high) {
  return std::uint32_t{low} | std::uint32_t{high} << 16;
}

struct Lanes {
  std::uint16_t pair[2] = {};
  alignas(64) std::uint32_t b[kLanes] = {};
  alignas(64) float c[kLanes] = {};

  void multiply() { unit_probes().dot.dot(pair, b, c); }
};

/// A half whose exponent is one of `count` from `least` on.
std::uint16_t half_about(std::mt19937_64& engine, unsigned least, unsigned count) {
  return std::uint16_t((engine() & 0x807f) | (least + engine() % count) << 7);
}

// Whatever the order of the two products: each is added with one rounding, and two results and
// the two products' inputs may be flushed.
TEST_F(Dot, RoundsOnceAProduct) {
  std::mt19937_64 engine(1);
  for (const auto& [least, count] : {std::pair{124u, 6u}, {110u, 30u}, {50u, 40u}, {170u, 20u}}) {
    const unsigned sums = least > 64 ? 2 * least - 127 : 1;  // exponents of products
    for (int round = 0; round < 20000; ++round) {
      Lanes x;
      for (auto& half : x.pair) half = half_about(engine, least, count);
      double exact[kLanes], sizes[kLanes];
      for (int n = 0; n < kLanes; ++n) {
        const std::uint16_t low = half_about(engine, least, count);
        const std::uint16_t high = half_about(engine, least, count);
        x.b[n] = pair_of(low, high);
        x.c[n] = widened(half_about(engine, sums, 2 * count)) * 1.0625f;
        const double first = double(widened(x.pair[0])) * double(widened(low));
        const double second = double(widened(x.pair[1])) * double(widened(high));
        exact[n] = double(x.c[n]) + first + second;
        sizes[n] = std::abs(double(x.c[n])) + std::abs(first) + std::abs(second);
      }
      x.multiply();
      for (int n = 0; n < kLanes; ++n) {
        // Both rounded sums are at most the sizes, up to the first rounding.
        const double allowed = 2.0000001 * 0x1p-24 * sizes[n] + 2 * double(kSmallest);
        ASSERT_LE(std::abs(double(x.c[n]) - exact[n]), allowed) << exact[n] << " got " << x.c[n];
      }
    }
  }
}

// A pair of weights of 0 leaves the sum of a row that sees neither key.
TEST_F(Dot, ZeroWeightsLeaveTheSum) {
  std::mt19937_64 engine(2);
  for (int round = 0; round < 2000; ++round) {
    Lanes x;
    for (auto& half : x.pair) half = half_about(engine, 1, 254);
    float before[kLanes];
    for (int n = 0; n < kLanes; ++n) {
      x.b[n] = 0;
      x.c[n] = before[n] = n == 0 ? 0 : widened(half_about(engine, 1, 254)) * 1.0625f;
    }
    x.multiply();
    for (int n = 0; n < kLanes; ++n) EXPECT_EQ(x.c[n], before[n]);
  }
}

TEST_F(Dot, KeepsWhatIsNotFinite) {
  constexpr std::uint16_t one = 0x3f80, infinity = 0x7f80, nan = 0x7fc0;
  for (const bool in_high : {false, true}) {
    Lanes x;
    x.pair[0] = x.pair[1] = one;
    const auto place = [&](std::uint16_t half) {
      return in_high ? pair_of(one, half) : pair_of(half, one);
    };
    x.b[0] = place(infinity);
    x.b[1] = place(infinity | 0x8000);
    x.b[2] = place(nan);
    x.b[3] = pair_of(infinity, infinity | 0x8000);
    x.b[4] = pair_of(one, one);
    x.c[4] = std::numeric_limits<float>::infinity();
    x.b[5] = pair_of(one, one);
    x.c[5] = std::numeric_limits<float>::quiet_NaN();
    x.multiply();
    EXPECT_EQ(x.c[0], std::numeric_limits<float>::infinity());
    EXPECT_EQ(x.c[1], -std::numeric_limits<float>::infinity());
    EXPECT_TRUE(std::isnan(x.c[2]));
    EXPECT_TRUE(std::isnan(x.c[3]));
    EXPECT_EQ(x.c[4], std::numeric_limits<float>::infinity());
    EXPECT_TRUE(std::isnan(x.c[5]));
  }
}

// docs/numerics.md: an input below the smallest normal number counts as 0.
TEST_F(Dot, SubnormalInputsLoseLessThanTheirValue) {
  for (const std::uint16_t subnormal : {std::uint16_t(1), std::uint16_t(0x7f)}) {
    Lanes x;
    x.pair[0] = subnormal;
    x.pair[1] = 0x3f80;
    for (auto& word : x.b) word = pair_of(0x7f00, 0x4000);  // 2^127 and 2
    x.multiply();
    const float most = 2 + widened(subnormal) * 0x1p127f;
    for (const float c : x.c) {
      EXPECT_GE(c, 2);
      EXPECT_LE(c, most);
    }
  }
}

}  // namespace
}  // namespace regard::test
