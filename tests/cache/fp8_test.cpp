// The 8-bit types of regard/half.h against their definition.
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "cache/definition.h"
#include "regard/half.h"

namespace regard::test {
namespace {

static_assert(to_float(to_f8e4m3(-1.5f)) == -1.5f && to_float(to_f8e5m2(-1.5f)) == -1.5f);
static_assert(to_f8e4m3(1e30f).bits == 0x7e && to_f8e5m2(-1e30f).bits == 0xfb);

template <KvType kType>
struct Fp8;
template <>
struct Fp8<KvType::fp8_e4m3> {
  static float widen(int code) { return to_float(F8E4M3{std::uint8_t(code)}); }
  static int narrow(float x) { return to_f8e4m3(x).bits; }
};
template <>
struct Fp8<KvType::fp8_e5m2> {
  static float widen(int code) { return to_float(F8E5M2{std::uint8_t(code)}); }
  static int narrow(float x) { return to_f8e5m2(x).bits; }
};

template <KvType kType>
void expect_exact_widening() {
  for (int code = 0; code < 256; ++code) {
    const double want = fp8_value(kType, code);
    const float got = Fp8<kType>::widen(code);
    ASSERT_EQ(std::isnan(got), std::isnan(want)) << code;
    ASSERT_EQ(std::signbit(got), code >= 0x80) << code;
    if (!std::isnan(want)) {
      ASSERT_EQ(double(got), want) << code;
    }
    // Back again to the same code; a signalling NaN comes back quiet.
    ASSERT_EQ(Fp8<kType>::narrow(got), std::isnan(want) ? code | 2 : code) << code;
  }
}

template <KvType kType>
void expect_nearest(float x) {
  const float got = Fp8<kType>::widen(Fp8<kType>::narrow(x));
  const double want = stored_fp8(kType, double(x));
  if (std::isnan(want)) {
    ASSERT_TRUE(std::isnan(got)) << x;
  } else {
    ASSERT_EQ(double(got), want) << x;
  }
  ASSERT_EQ(std::signbit(got), std::signbit(x)) << x;
}

/// Every value, every midpoint, their neighbours in f32, what lies beyond, and random patterns.
template <KvType kType>
void expect_nearest_everywhere() {
  const std::vector<double> values = fp8_values(kType);
  std::vector<float> cases = {0,
                              1e-40f,
                              1e30f,
                              HUGE_VALF,
                              std::numeric_limits<float>::max(),
                              std::numeric_limits<float>::quiet_NaN(),
                              463.9f,
                              464,
                              480,
                              61440};
  for (std::size_t n = 0; n + 1 < values.size(); ++n) {
    for (const double at : {values[n], values[n] / 2 + values[n + 1] / 2, values[n + 1]}) {
      const auto x = float(at);
      cases.insert(cases.end(), {x, std::nextafter(x, 0.0f), std::nextafter(x, HUGE_VALF)});
    }
  }
  std::mt19937 random(5);
  for (int n = 0; n < 100000; ++n) cases.push_back(std::bit_cast<float>(std::uint32_t(random())));
  for (const float x : cases) {
    ASSERT_NO_FATAL_FAILURE(expect_nearest<kType>(x));
    ASSERT_NO_FATAL_FAILURE(expect_nearest<kType>(-x));
  }
}

TEST(Fp8, EveryCodeWidensExactlyAndComesBack) {
  EXPECT_EQ(fp8_value(KvType::fp8_e4m3, 0x7e), 448);
  EXPECT_EQ(fp8_value(KvType::fp8_e5m2, 0x7b), 57344);
  expect_exact_widening<KvType::fp8_e5m2>();
  expect_exact_widening<KvType::fp8_e4m3>();
}
TEST(Fp8, E4M3RoundsToNearestAndSaturates) {
  expect_nearest_everywhere<KvType::fp8_e4m3>();
}
TEST(Fp8, E5M2RoundsToNearestAndSaturates) {
  expect_nearest_everywhere<KvType::fp8_e5m2>();
}

}  // namespace
}  // namespace regard::test
