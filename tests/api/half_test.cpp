// regard/half.h, for all values of both types, also where the caller flushes denormals.
#include "regard/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "support/half.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace regard::test {
namespace {

static_assert(to_float(to_f16(-1.5f)) == -1.5f);
static_assert(to_float(to_bf16(-1.5f)) == -1.5f);
static_assert(to_f16(65520.0f).bits == 0x7c00 && to_f16(65519.0f).bits == 0x7bff);

struct F16Case {
  using Half = F16;
  static constexpr HalfFormat kFormat = kF16Format;
  static Half narrow(float x) { return to_f16(x); }
};
struct BF16Case {
  using Half = BF16;
  static constexpr HalfFormat kFormat = kBF16Format;
  static Half narrow(float x) { return to_bf16(x); }
};

template <class Case>
class HalfOf : public testing::Test {};
using Cases = testing::Types<F16Case, BF16Case>;
TYPED_TEST_SUITE(HalfOf, Cases);

/// float of a bit pattern, and whether it is a NaN, by integers: the mode cannot interfere.
bool is_nan_bits(float x) {
  return (std::bit_cast<std::uint32_t>(x) & 0x7fffffff) > 0x7f800000;
}

template <class Case>
void expect_exact_widening() {
  std::vector<float> widened(65536);
  for (int bits = 0; bits < 65536; ++bits) {
    widened[std::size_t(bits)] = to_float(typename Case::Half{std::uint16_t(bits)});
  }
  for (int bits = 0; bits < 65536; ++bits) {
    const double want = half_value(Case::kFormat, std::uint16_t(bits));
    const float got = widened[std::size_t(bits)];
    if (std::isnan(want)) {
      ASSERT_TRUE(is_nan_bits(got)) << bits;
      ASSERT_EQ(std::signbit(got), bits >= 0x8000) << bits;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(float(want)))
          << bits;
    }
  }
}

TYPED_TEST(HalfOf, WidensEveryValueExactly) {
  expect_exact_widening<TypeParam>();
}

TYPED_TEST(HalfOf, NarrowsToNearestEven) {
  const std::vector<double> values = half_values(TypeParam::kFormat);
  for (const float x : rounding_cases<float>(TypeParam::kFormat)) {
    ASSERT_EQ(TypeParam::narrow(x).bits, nearest_half(values, x)) << std::hexfloat << x;
  }
  std::mt19937 engine(1);
  for (int n = 0; n < 1000000; ++n) {
    const float x = std::bit_cast<float>(std::uint32_t(engine()));
    if (std::isnan(x)) continue;
    ASSERT_EQ(TypeParam::narrow(x).bits, nearest_half(values, x)) << std::hexfloat << x;
  }
}

TYPED_TEST(HalfOf, GivesBackEveryValueAndKeepsNaN) {
  const int infinity = TypeParam::kFormat.infinity();
  for (int bits = 0; bits < 65536; ++bits) {
    const auto half = typename TypeParam::Half{std::uint16_t(bits)};
    const int back = TypeParam::narrow(to_float(half)).bits;
    const int quiet = (bits & 0x7fff) > infinity ? 1 << (TypeParam::kFormat.fraction_bits - 1) : 0;
    ASSERT_EQ(back, bits | quiet);
  }
  for (const std::uint32_t payload : {0x7f800001u, 0x7fffffffu, 0xff800001u, 0xffffffffu}) {
    const int narrow = TypeParam::narrow(std::bit_cast<float>(payload)).bits;
    EXPECT_GT(narrow & 0x7fff, infinity);
    EXPECT_EQ(narrow >> 15, int(payload >> 31));
  }
}

#if defined(__SSE__)
TYPED_TEST(HalfOf, ConvertsAlikeWhereDenormalsAreFlushed) {
  std::vector<float> cases = rounding_cases<float>(TypeParam::kFormat);
  const unsigned saved = _mm_getcsr();
  std::vector<std::uint32_t> widened(65536);
  std::vector<int> narrowed(cases.size());
  _mm_setcsr(saved | 0x8040);  // FTZ and DAZ
  for (std::size_t n = 0; n < widened.size(); ++n) {
    const auto half = typename TypeParam::Half{std::uint16_t(n)};
    widened[n] = std::bit_cast<std::uint32_t>(to_float(half));
  }
  for (std::size_t n = 0; n < cases.size(); ++n) narrowed[n] = TypeParam::narrow(cases[n]).bits;
  _mm_setcsr(saved);
  for (std::size_t n = 0; n < widened.size(); ++n) {
    const auto half = typename TypeParam::Half{std::uint16_t(n)};
    ASSERT_EQ(widened[n], std::bit_cast<std::uint32_t>(to_float(half))) << n;
  }
  for (std::size_t n = 0; n < cases.size(); ++n) {
    ASSERT_EQ(narrowed[n], TypeParam::narrow(cases[n]).bits) << std::hexfloat << cases[n];
  }
}
#endif

}  // namespace
}  // namespace regard::test
