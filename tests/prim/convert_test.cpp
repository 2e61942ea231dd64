// Half types read and written by every ISA while it flushes denormals, for all values.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <random>

#include "prim/probe.h"
#include "support/half.h"

namespace regard::test {
namespace {

using contract::Element;

struct F16Case {
  static constexpr Element kType = Element::f16;
  static constexpr HalfFormat kFormat = kF16Format;
  static const HalfProbe& probe() { return probes().f16; }
};
struct BF16Case {
  static constexpr Element kType = Element::bf16;
  static constexpr HalfFormat kFormat = kBF16Format;
  static const HalfProbe& probe() { return probes().bf16; }
};

template <class T>
const Probe<T>& probe_of() {
  if constexpr (sizeof(T) == 4) {
    return probes().f32;
  } else {
    return probes().f64;
  }
}

template <class T>
auto bits_of(T x) {
  return std::bit_cast<std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>(x);
}

std::vector<std::uint16_t> every_half() {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t n = 0; n < all.size(); ++n) all[n] = std::uint16_t(n);
  return all;
}

template <class T>
void expect_value(T got, double want, int at) {
  if (std::isnan(want)) {
    ASSERT_TRUE(std::isnan(got)) << at;
    ASSERT_EQ(std::signbit(got), at >= 0x8000) << at;
  } else {
    ASSERT_EQ(bits_of(got), bits_of(T(want))) << at;
  }
}

template <class Case>
class ConvertOf : public testing::Test {
 protected:
  template <class T>
  static void expect_all_read() {
    const std::vector<std::uint16_t> halves = every_half();
    std::vector<T> up(65536), down(65536), last(3);
    probe_of<T>().read(Case::kType, halves.data(), 1, 65536, up.data());
    probe_of<T>().read(Case::kType, &halves.back(), -1, 65536, down.data());
    for (int n = 0; n < 65536; ++n) {
      const double want = half_value(Case::kFormat, std::uint16_t(n));
      expect_value(up[std::size_t(n)], want, n);
      expect_value(down[std::size_t(65535 - n)], want, n);
    }
    probe_of<T>().read(Case::kType, &halves[1], 0, 3, last.data());
    for (const T x : last) EXPECT_EQ(x, T(half_value(Case::kFormat, 1)));
  }

  template <class T>
  static void expect_all_written(const std::vector<T>& x) {
    const auto count = std::int64_t(x.size());
    std::vector<std::uint16_t> dense(x.size());
    std::vector<std::array<std::uint16_t, 2>> spread(x.size(), {0, 0x1234});
    probe_of<T>().write(Case::kType, x.data(), 1, count, dense.data(), 1);
    const std::vector<T> backwards(x.rbegin(), x.rend());
    probe_of<T>().write(Case::kType, &backwards.back(), -1, count, spread.data()->data(), 2);
    const std::vector<double> values = half_values(Case::kFormat);
    for (std::size_t n = 0; n < x.size(); ++n) {
      const std::uint16_t want = nearest_half(values, double(x[n]));
      ASSERT_EQ(dense[n], want) << std::hexfloat << x[n];
      ASSERT_EQ(spread[n][0], want) << std::hexfloat << x[n];
      ASSERT_EQ(spread[n][1], 0x1234);
    }
  }
};
using Cases = testing::Types<F16Case, BF16Case>;
TYPED_TEST_SUITE(ConvertOf, Cases);

TYPED_TEST(ConvertOf, ReadsEveryValue) {
  this->template expect_all_read<float>();
  this->template expect_all_read<double>();
  for (int n = 0; n < 65536; ++n) {
    expect_value(TypeParam::probe().widen(std::uint16_t(n)),
                 half_value(TypeParam::kFormat, std::uint16_t(n)), n);
  }
}

TYPED_TEST(ConvertOf, WritesTheNearestOfAnyF32) {
  std::vector<float> x = rounding_cases<float>(TypeParam::kFormat);
  std::mt19937 engine(1);
  while (x.size() < 1000001) {
    const float random = std::bit_cast<float>(std::uint32_t(engine()));
    if (!std::isnan(random)) x.push_back(random);
  }
  this->expect_all_written(x);
  const std::vector<double> values = half_values(TypeParam::kFormat);
  for (const float one : x) {
    ASSERT_EQ(TypeParam::probe().narrow(one), nearest_half(values, one)) << std::hexfloat << one;
  }
}

// Rounding to f32 first would be wrong next to the midpoints.
TYPED_TEST(ConvertOf, WritesTheNearestOfAnyF64) {
  std::vector<double> x = rounding_cases<double>(TypeParam::kFormat);
  std::mt19937_64 engine(2);
  std::uniform_real_distribution<double> exponent(-160, 130);
  for (int n = 0; n < 500000; ++n) x.push_back(std::exp2(exponent(engine)) * (n % 2 ? 1 : -1));
  this->expect_all_written(x);
}

TYPED_TEST(ConvertOf, WritesEveryNaNAsNaN) {
  const int infinity = TypeParam::kFormat.infinity();
  for (const std::uint32_t payload : {0x7f800001u, 0x7fffffffu, 0xff800001u, 0xffffffffu}) {
    const std::vector<float> nine(9, std::bit_cast<float>(payload));
    const std::uint64_t wide_payload = std::uint64_t(payload) << 32 | 1;
    const auto wide = std::bit_cast<double>(wide_payload | 0x7ff0000000000001);
    std::uint16_t from_f32[9], from_f64;
    probes().f32.write(TypeParam::kType, nine.data(), 1, 9, from_f32, 1);
    probes().f64.write(TypeParam::kType, &wide, 1, 1, &from_f64, 1);
    for (const std::uint16_t got : {from_f32[0], from_f32[8], from_f64}) {
      EXPECT_GT(got & 0x7fff, infinity);
      EXPECT_EQ(got >> 15, int(payload >> 31));
    }
  }
}

// Whole vectors and what is left over: nothing beyond the count is touched.
TYPED_TEST(ConvertOf, StopsAtTheCount) {
  const std::vector<std::uint16_t> halves(80, 0x3f80);
  const auto one = float(half_value(TypeParam::kFormat, 0x3f80));
  const std::vector<float> numbers(80, one);
  for (std::int64_t count = 0; count <= 70; ++count) {
    std::vector<float> read(80, 7.0f);
    std::vector<std::uint16_t> written(80, 7);
    probes().f32.read(TypeParam::kType, halves.data(), 1, count, read.data());
    probes().f32.write(TypeParam::kType, numbers.data(), 1, count, written.data(), 1);
    for (std::int64_t n = 0; n < 80; ++n) {
      ASSERT_EQ(read[std::size_t(n)], n < count ? one : 7.0f) << count;
      ASSERT_EQ(written[std::size_t(n)], n < count ? 0x3f80 : 7) << count;
    }
  }
}

TEST(Convert, CopiesOrRoundsBetweenF32AndF64) {
  const std::vector<double> wide = {1.1, -2.5, 1e300, 0x1p-120, -HUGE_VAL};
  std::vector<float> narrow(5), narrow_back(5);
  std::vector<double> wide_back(5), same(5);
  probes().f32.read(Element::f64, wide.data(), 1, 5, narrow.data());
  probes().f64.write(Element::f32, wide.data(), 1, 5, narrow_back.data(), 1);
  probes().f64.read(Element::f32, narrow.data(), 1, 5, wide_back.data());
  probes().f64.read(Element::f64, &wide[4], -1, 5, same.data());
  for (std::size_t n = 0; n < 5; ++n) {
    EXPECT_EQ(narrow[n], float(wide[n]));
    EXPECT_EQ(narrow_back[n], float(wide[n]));
    EXPECT_EQ(wide_back[n], double(float(wide[n])));
    EXPECT_EQ(same[4 - n], wide[n]);
  }
  std::vector<float> spread(10, 3);
  probes().f32.write(Element::f32, narrow.data(), 1, 5, spread.data(), 2);
  for (std::size_t n = 0; n < 5; ++n) {
    EXPECT_EQ(spread[2 * n], narrow[n]);
    EXPECT_EQ(spread[2 * n + 1], 3);
  }
}

}  // namespace
}  // namespace regard::test
