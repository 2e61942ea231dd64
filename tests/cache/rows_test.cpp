// Rows of every type: rounding against the definition, NaN and infinity, and where bytes stand.
#include "cache/rows.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>

#include "cache/definition.h"
#include "regard/half.h"

namespace regard::test {
namespace {

/// The bytes of one row, between canaries.
struct Stored {
  KvType type;
  std::int64_t columns;
  std::vector<std::byte> row, scales;

  template <class T>
  Stored(KvType kv_type, const std::vector<T>& values)
      : type(kv_type),
        columns(std::int64_t(values.size())),
        row(std::size_t(kv_row_bytes(type, columns)) + 2 * kCanary, kGuard),
        scales(std::size_t(kv_scale_bytes(type, columns)) + 2 * kCanary, kGuard) {
    cache::write_row(type, values.data(), columns, row.data() + kCanary, scales.data() + kCanary);
  }

  std::vector<float> read() const {
    std::vector<float> values(std::size_t(columns), 77.0f);
    cache::read_row(type, row.data() + kCanary, scales.data() + kCanary, columns, values.data());
    return values;
  }

  int byte(std::size_t n) const { return int(row[kCanary + n]); }

  bool canaries_intact() const {
    for (const auto* bytes : {&row, &scales}) {
      for (std::size_t n = 0; n < kCanary; ++n) {
        if ((*bytes)[n] != kGuard || bytes->end()[-1 - std::ptrdiff_t(n)] != kGuard) return false;
      }
    }
    return true;
  }

  static constexpr std::size_t kCanary = 16;
  static constexpr std::byte kGuard{0xa5};
};

class Rows : public testing::TestWithParam<KvType> {};
class FloatRows : public Rows {};
class QuantisedRows : public Rows {};

std::string type_name(const testing::TestParamInfo<KvType>& info) {
  return kv_type_name(info.param);
}

INSTANTIATE_TEST_SUITE_P(, Rows, testing::ValuesIn(kKvTypes), type_name);
INSTANTIATE_TEST_SUITE_P(, FloatRows, testing::ValuesIn(kKvTypes, kKvTypes + 5), type_name);
INSTANTIATE_TEST_SUITE_P(, QuantisedRows, testing::ValuesIn(kKvTypes + 5, std::end(kKvTypes)),
                         type_name);

template <class T>
void expect_definition(KvType type, const std::vector<T>& values) {
  const Stored stored(type, values);
  const std::vector<double> want = stored_row(type, {values.begin(), values.end()});
  const std::vector<float> got = stored.read();
  ASSERT_TRUE(stored.canaries_intact());
  for (std::size_t n = 0; n < got.size(); ++n) {
    if (std::isnan(want[n])) {
      ASSERT_TRUE(std::isnan(got[n])) << n << ": " << values[n] << " became " << got[n];
    } else {
      ASSERT_EQ(double(got[n]), want[n]) << n << ": " << double(values[n]);
    }
  }
}

/// Rows of all magnitudes, from below the smallest scale to beyond the largest.
template <class T>
void expect_definition_of_random_rows(KvType type, int lowest, int highest) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  for (int exponent = lowest; exponent <= highest; exponent += 3) {
    std::vector<T> values(96);
    for (T& x : values) x = T(std::ldexp(normal(random), exponent));
    values[5] = 0;
    values[40] = std::ldexp(T(1), exponent);
    expect_definition(type, values);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST_P(Rows, OfF32AreRoundedAsDefined) {
  expect_definition_of_random_rows<float>(GetParam(), -149, 125);
}

TEST_P(Rows, OfF64AreRoundedAsDefined) {
  expect_definition_of_random_rows<double>(GetParam(), -180, 180);
}

TEST_P(Rows, OfZerosAreZeros) {
  for (const float x : Stored(GetParam(), std::vector<float>(64, 0.0f)).read()) EXPECT_EQ(x, 0.0f);
}

// Half way between two neighbours of f16, bf16, f32 and fp8, and next to it in f64: rounding to f32
// first would make a tie of all three.
TEST_P(FloatRows, OfF64AreRoundedOnce) {
  std::vector<double> cases;
  for (int exponent = -30; exponent < 20; ++exponent) {
    for (const double half : {0x1p-11, 0x1p-8, 0x1p-24, 0x1p-4, 0x1p-3}) {
      for (const double odd : {1.0, 3.0}) {
        const double tie = std::ldexp(1 + odd * half, exponent);
        cases.insert(cases.end(), {tie, std::nextafter(tie, 0.0), std::nextafter(tie, 1e9)});
        cases.insert(cases.end(), {-tie, std::nextafter(-tie, 0.0), std::nextafter(-tie, -1e9)});
      }
    }
  }
  expect_definition(GetParam(), cases);
}

// Half way between two multiples of the scale, and next to it.
TEST_P(QuantisedRows, OfF64NearTiesAreRoundedOnce) {
  std::mt19937_64 random(4);
  for (int n = 0; n < 300; ++n) {
    std::vector<double> values(32);
    values[0] = 1 + double(random() % 4096) / 4096;
    const double scale = least_scale(GetParam(), values[0]);
    for (std::size_t i = 1; i < 32; ++i) {
      const double tie = (double(i % 7) - 0.5) * scale;
      values[i] = i % 3 == 0 ? tie : std::nextafter(tie, i % 3 == 1 ? 9.0 : -9.0);
    }
    ASSERT_NO_FATAL_FAILURE(expect_definition(GetParam(), values));
  }
}

TEST_P(Rows, KeepNaNAndInfinityInTheirPlaceOrBlock) {
  for (const double bad : {HUGE_VAL, -HUGE_VAL, std::numeric_limits<double>::quiet_NaN()}) {
    std::vector<double> values(96, 0.5);
    values[40] = bad;
    expect_definition(GetParam(), values);
    expect_definition(GetParam(), std::vector<float>(values.begin(), values.end()));
  }
}

TEST_P(Rows, OfNumbersBeyondTheRange) {
  std::vector<double> values(64, 3e38);
  values[1] = -1e300;
  values[2] = 1e300;
  values[33] = -5e38;
  expect_definition(GetParam(), values);
}

TEST_P(QuantisedRows, StayFinite) {
  std::vector<double> values(64, 3e38);
  values[2] = 1e300;
  values[33] = -std::numeric_limits<double>::max();
  for (const float x : Stored(GetParam(), values).read()) EXPECT_TRUE(std::isfinite(x));
}

// The promise in words, from the numbers alone.
TEST_P(QuantisedRows, ErrByHalfAScaleAtMost) {
  std::mt19937_64 random(8);
  std::normal_distribution<float> normal;
  std::vector<float> values(128);
  for (float& x : values) x = normal(random);
  const std::vector<float> got = Stored(GetParam(), values).read();
  const bool narrow = GetParam() == KvType::int4_32 || GetParam() == KvType::q4_0;
  const std::size_t group = GetParam() == KvType::int8 ? 128 : 32;
  for (std::size_t n = 0; n < 128; ++n) {
    float largest = 0;
    for (std::size_t i = n / group * group; i < (n / group + 1) * group; ++i) {
      largest = std::max(largest, std::abs(values[i]));
    }
    // A scale is rounded up by less than one part in 1024.
    const double scale = double(largest) / (narrow ? 7 : 127) * (1 + 0x1p-10);
    EXPECT_LE(std::abs(double(got[n]) - double(values[n])), scale / 2) << n;
  }
}

/// Elements 0, 1, 2, ... of a block whose scale is 1: stored as they are.
std::vector<float> countable(float highest) {
  std::vector<float> values(64);
  for (std::size_t n = 0; n < 64; ++n) values[n] = float(n % 8);
  values[31] = values[63] = highest;
  values[1] = values[33] = -3;
  return values;
}

TEST(RowLayout, Int4HasElementNInNibbleN) {
  const Stored stored(KvType::int4_32, countable(7));
  EXPECT_EQ(stored.byte(0), 8 + 0 + 16 * (8 - 3));
  EXPECT_EQ(stored.byte(1), 8 + 2 + 16 * (8 + 3));
  EXPECT_EQ(stored.byte(15), 8 + 6 + 16 * (8 + 7));
  EXPECT_EQ(stored.byte(16), stored.byte(0));
  std::uint16_t scales[2];
  std::memcpy(scales, stored.scales.data() + Stored::kCanary, sizeof scales);
  EXPECT_EQ(scales[0], to_f16(1).bits);
  EXPECT_EQ(scales[1], to_f16(1).bits);
}

TEST(RowLayout, Q4HasElementsNAndSixteenMoreInByteN) {
  const Stored stored(KvType::q4_0, countable(7));
  for (const std::size_t block : {std::size_t{0}, std::size_t{18}}) {
    EXPECT_EQ(stored.byte(block) + 256 * stored.byte(block + 1), to_f16(1).bits);
    EXPECT_EQ(stored.byte(block + 2), 8 + 0 + 16 * (8 + 0));
    EXPECT_EQ(stored.byte(block + 3), 8 - 3 + 16 * (8 + 1));
    EXPECT_EQ(stored.byte(block + 17), 8 + 7 + 16 * (8 + 7));
  }
}

TEST(RowLayout, Q8HasItsScaleInFront) {
  const Stored stored(KvType::q8_0, countable(127));
  for (const std::size_t block : {std::size_t{0}, std::size_t{34}}) {
    EXPECT_EQ(stored.byte(block) + 256 * stored.byte(block + 1), to_f16(1).bits);
    EXPECT_EQ(stored.byte(block + 2), 0);
    EXPECT_EQ(stored.byte(block + 3), 256 - 3);
    EXPECT_EQ(stored.byte(block + 33), 127);
  }
}

TEST(RowLayout, Int8HasItsScalesApart) {
  const Stored row(KvType::int8, countable(127)), blocks(KvType::int8_32, countable(127));
  for (const Stored* stored : {&row, &blocks}) {
    EXPECT_EQ(stored->byte(1), 256 - 3);
    EXPECT_EQ(stored->byte(63), 127);
  }
  float scale = 0;
  std::memcpy(&scale, row.scales.data() + Stored::kCanary, sizeof scale);
  EXPECT_EQ(scale, 1.0f);
  EXPECT_EQ(blocks.scales.size(), std::size_t(4 + 2 * Stored::kCanary));
}

// All 256 bytes that a foreign cache may hold mean something: -128 is -128 scales.
TEST(RowLayout, ForeignBytesAreRead) {
  std::vector<std::byte> block(34, std::byte{0x80});
  const auto scale = to_f16(0.5f).bits;
  std::memcpy(block.data(), &scale, 2);
  std::vector<float> values(32);
  cache::read_row(KvType::q8_0, block.data(), nullptr, 32, values.data());
  EXPECT_EQ(values[31], -64);
  block.assign(18, std::byte{0xf0});
  std::memcpy(block.data(), &scale, 2);
  cache::read_row(KvType::q4_0, block.data(), nullptr, 32, values.data());
  EXPECT_EQ(values[0], -4);
  EXPECT_EQ(values[16], 3.5f);
}

}  // namespace
}  // namespace regard::test
