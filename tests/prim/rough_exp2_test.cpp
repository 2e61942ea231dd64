// 2^x as bf16 in 16-bit integers: what docs/numerics.md grants it, on every unit.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "prim/unit_probe.h"

namespace regard::test {
namespace {

constexpr std::size_t kCount = 16;

std::vector<PairProbe> units() {
  std::vector<PairProbe> all;
  const UnitProbes& probes = unit_probes();
  for (const PairProbe unit :
       {probes.emulated.rough_exp2, probes.tiles.rough_exp2, probes.dot.rough_exp2}) {
    if (unit) all.push_back(unit);
  }
  return all;
}

/// Bits of the power of each x, which stands in the low half of one word and in the high half of
/// another.
std::vector<std::uint16_t> powers(PairProbe unit, const std::vector<float>& exponents) {
  std::vector<std::uint16_t> bits;
  for (std::size_t at = 0; at < exponents.size(); at += kCount) {
    alignas(64) float low[kCount] = {}, high[kCount] = {};
    alignas(64) std::uint32_t words[kCount];
    const std::size_t count = std::min(kCount, exponents.size() - at);
    for (std::size_t n = 0; n < count; ++n) low[n] = high[count - 1 - n] = exponents[at + n];
    unit(low, high, words);
    for (std::size_t n = 0; n < count; ++n) {
      bits.push_back(std::uint16_t(words[n]));
      EXPECT_EQ(words[count - 1 - n] >> 16, bits.back()) << exponents[at + n];
    }
  }
  return bits;
}

double value_of(std::uint16_t bits) {
  return double(std::bit_cast<float>(std::uint32_t{bits} << 16));
}

/// Every 1/4096 of a few octaves at the ends of the range and in its middle.
std::vector<float> exponents() {
  std::vector<float> all;
  for (const int octave : {-125, -60, -2, -1, 0, 1, 32, 100, 126}) {
    for (int n = 0; n < 4096; ++n) all.push_back(float(octave) + float(n) / 4096);
  }
  return all;
}

TEST(RoughExp2, IsWithinItsBoundAndRightOnAverage) {
  const std::vector<float> x = exponents();
  for (const PairProbe unit : units()) {
    const auto bits = powers(unit, x);
    double worst = 0, sum = 0, squares = 0;
    for (std::size_t n = 0; n < x.size(); ++n) {
      const double error = value_of(bits[n]) / std::exp2(double(x[n])) - 1;
      worst = std::max(worst, std::abs(error));
      sum += error;
      squares += error * error;
    }
    EXPECT_LE(worst, std::exp2(-7.3));
    EXPECT_LE(std::abs(sum) / double(x.size()), 2e-5);
    EXPECT_LE(std::sqrt(squares / double(x.size())), 2e-3);
  }
}

TEST(RoughExp2, EndsAtZeroAndAtNan) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const PairProbe unit : units()) {
    for (const std::uint16_t bits : powers(unit, {-127.5F, -1000.0F, -1e30F, -infinity})) {
      EXPECT_EQ(bits, 0);
    }
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const std::uint16_t bits : powers(unit, {129.0F, 1000.0F, 1e30F, infinity, nan})) {
      EXPECT_TRUE(std::isnan(value_of(bits))) << bits;
    }
  }
}

TEST(RoughExp2, HasTheSameBitsOnEveryUnit) {
  const std::vector<float> x = exponents();
  const auto expected = powers(unit_probes().emulated.rough_exp2, x);
  for (const PairProbe unit : units()) EXPECT_EQ(powers(unit, x), expected);
}

}  // namespace
}  // namespace regard::test
