// The tile units against their definition, which stands here once more: of each 32 terms, the even
// and the odd ones are summed apart by fused multiply-adds from 0, both sums added, and that to c;
// to nearest, subnormal inputs and results being 0. Bits have to agree, NaN only to be NaN.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "dispatch/dispatch.h"
#include "prim/unit_probe.h"
#include "support/half.h"

namespace regard::test {
namespace {

constexpr int kSide = 16;

float flushed(float x) {
  return std::abs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}

float value_of(std::uint16_t half) {
  return flushed(std::bit_cast<float>(std::uint32_t{half} << 16));
}

/// a b + c as the ISA in use has it: `generic` rounds the product first.
float multiply_add(float a, float b, float c) {
  static const bool twice = std::string(dispatch::chosen().isa->name) == "generic";
  if (twice) return flushed(flushed(a * b) + c);
  const float sum = std::fma(a, b, c);
  // Flushed is what 24 bits have below the smallest normal number, not what the coarser grid of
  // subnormal ones has: that grid may round to the smallest normal number.
  constexpr float smallest = std::numeric_limits<float>::min(), up = 0x1p24f;
  if (std::abs(sum) == smallest && std::abs(std::fma(a * up, b, c * up)) < smallest * up) {
    return std::copysign(0.0f, sum);
  }
  return flushed(sum);
}

/// Halves that a case draws from.
using Draw = std::uint16_t (*)(std::mt19937_64&);

std::uint16_t any_bits(std::mt19937_64& engine) {
  return std::uint16_t(engine());
}
/// Exponents from `least` on, any sign and fraction.
std::uint16_t with_exponent(std::mt19937_64& engine, unsigned least, unsigned count) {
  return std::uint16_t((engine() & 0x807f) | (least + engine() % count) << 7);
}
std::uint16_t about_one(std::mt19937_64& engine) {
  return with_exponent(engine, 124, 6);
}
std::uint16_t huge(std::mt19937_64& engine) {
  return with_exponent(engine, 186, 9);
}
std::uint16_t tiny(std::mt19937_64& engine) {
  return engine() % 4 == 0 ? with_exponent(engine, 0, 1) : with_exponent(engine, 50, 30);
}
/// Few values of both signs: sums cancel to 0 and to what was far smaller than the terms.
std::uint16_t cancelling(std::mt19937_64& engine) {
  constexpr std::uint16_t values[] = {0x3f80, 0xbf80, 0x4300, 0xc300, 0x4b01, 0xcb01, 0x0000};
  return values[engine() % std::size(values)];
}
/// Sums of products that come to the smallest normal number, and far less beside it.
[[maybe_unused]] std::uint16_t beside_smallest(std::mt19937_64& engine) {
  const std::uint64_t kind = engine() % 8;
  if (kind < 5) return 0;
  return kind == 5 ? with_exponent(engine, 38, 12) : with_exponent(engine, 64, 1) & 0xff80;
}
std::uint16_t seldom_odd(std::mt19937_64& engine) {
  constexpr std::uint16_t values[] = {0x7f80, 0xff80, 0x7fc1, 0x0000, 0x8000, 0x0001};
  return engine() % 200 == 0 ? values[engine() % std::size(values)] : about_one(engine);
}

/// One product's memory; what lies in the gaps and past the product is random too.
struct Case {
  int rows, columns;
  std::int64_t chunks;
  bool add;
  std::int64_t gap;  ///< between rows, tiles and chunks
  std::vector<std::uint16_t> a, b;
  base::AlignedBuffer c;
  std::int64_t c_row;
  TileProduct product;

  Case(int r, int k, std::int64_t n, bool adds, std::int64_t space, Draw draw, std::uint64_t seed)
      : rows(r), columns(k), chunks(n), add(adds), gap(space), c_row(kSide * (k + space % 2)) {
    std::mt19937_64 engine(seed);
    const std::int64_t row = 2 * kSide + gap, tile = kSide * row + gap, chunk = 4 * tile + gap;
    a.resize(std::size_t(chunks * chunk));
    b.resize(a.size());
    for (auto& half : a) half = draw(engine);
    for (auto& half : b) half = draw(engine);
    c = base::AlignedBuffer(2 * kSide * c_row * std::int64_t{sizeof(float)});
    for (std::int64_t at = 0; at < 2 * kSide * c_row; ++at) {
      numbers()[at] = std::bit_cast<float>(std::uint32_t{draw(engine)} << 16 | 0x1234);
    }
    product = {{a.data(), row, tile, chunk},
               {b.data(), row, tile, chunk},
               chunks,
               add,
               numbers(),
               c_row,
               rows,
               columns,
               (n + 1) / 2,
               n % 3 == 2};
  }

  float* numbers() const { return reinterpret_cast<float*>(c.data()); }

  /// Element (row, column) of the result, from what c holds now.
  float expected(int i, int j) const {
    float sum = add ? flushed(numbers()[i * c_row + j]) : 0;
    for (std::int64_t n = 0; n < chunks; ++n) {
      const auto& p = product;
      const std::uint16_t* left =
          a.data() + n * p.a.chunk + i / kSide * p.a.tile + i % kSide * p.a.row;
      const std::uint16_t* right =
          b.data() + n * p.b.chunk + j / kSide * p.b.tile + 2 * (j % kSide);
      float halves[2] = {0, 0};
      for (int k = 0; k < 2 * kSide; ++k) {
        float& half = halves[k % 2];
        half = multiply_add(value_of(left[k]), value_of(right[k / 2 * p.b.row + k % 2]), half);
      }
      sum = flushed(sum + flushed(halves[0] + halves[1]));
    }
    return sum;
  }
};

::testing::AssertionResult same(float got, float want) {
  const bool both_nan = std::isnan(got) && std::isnan(want);
  if (both_nan || std::bit_cast<std::uint32_t>(got) == std::bit_cast<std::uint32_t>(want)) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << std::hexfloat << got << " and not " << want;
}

std::vector<float> expected_of(const Case& c) {
  std::vector<float> all;
  for (int i = 0; i < kSide * c.rows; ++i) {
    for (int j = 0; j < kSide * c.columns; ++j) all.push_back(c.expected(i, j));
  }
  return all;
}

void expect_definition(const TileProbe& unit, const Case& c) {
  const std::vector<float> want = expected_of(c);
  const std::vector<float> before(c.numbers(), c.numbers() + 2 * kSide * c.c_row);
  unit.multiply(c.product);
  for (int i = 0; i < 2 * kSide; ++i) {
    for (std::int64_t j = 0; j < c.c_row; ++j) {
      const bool inside = i < kSide * c.rows && j < kSide * c.columns;
      const float expected = inside ? want[std::size_t(i * kSide * c.columns + j)]
                                    : before[std::size_t(i * c.c_row + j)];
      ASSERT_TRUE(same(c.numbers()[i * c.c_row + j], expected))
          << "row " << i << " column " << j << " of " << c.rows << " x " << c.columns << " tiles, "
          << c.chunks << " chunks, add " << c.add << ", gap " << c.gap;
    }
  }
}

constexpr std::pair<const char*, Draw> kDraws[] = {
    {"any bits", any_bits},
    {"about one", about_one},
    {"huge", huge},
    {"tiny", tiny},
    {"cancelling", cancelling},
    {"seldom odd", seldom_odd},
#if !defined(__aarch64__)  // flushes what is too small before it is rounded
    {"beside the smallest", beside_smallest},
#endif
};

constexpr std::pair<int, int> kShapes[] = {{1, 2}, {1, 4}, {2, 2}};

void expect_definition(const TileProbe& unit) {
  std::uint64_t seed = 0;
  for (const auto& [name, draw] : kDraws) {
    SCOPED_TRACE(name);
    for (const auto& [rows, columns] : kShapes) {
      for (const bool add : {false, true}) {
        for (const std::int64_t chunks : {1, 2, 5}) {
          for (const std::int64_t gap : {0, 2, 3, 34}) {
            expect_definition(unit, Case(rows, columns, chunks, add, gap, draw, ++seed));
            if (testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST(Tiles, EmulatedOnesFollowTheDefinition) {
  expect_definition(unit_probes().emulated);
}

TEST(Tiles, HardwareFollowsTheDefinition) {
  if (!unit_probes().tiles.multiply) GTEST_SKIP() << "this ISA has no tiles in hardware";
  expect_definition(unit_probes().tiles);
}

// Above, one product at a time in the test's own words; here a hundred million of them.
TEST(Tiles, EmulationHasTheBitsOfHardware) {
  const UnitProbes& units = unit_probes();
  if (!units.tiles.multiply) GTEST_SKIP() << "this ISA has no tiles in hardware";
  for (const auto& [name, draw] : kDraws) {
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
      const bool add = seed % 2 == 0;
      const Case one(2, 2, 3, add, 0, draw, seed), other(2, 2, 3, add, 0, draw, seed);
      units.tiles.multiply(one.product);
      units.emulated.multiply(other.product);
      for (std::int64_t at = 0; at < 2 * kSide * one.c_row; ++at) {
        ASSERT_TRUE(same(one.numbers()[at], other.numbers()[at]))
            << name << " seed " << seed << " number " << at;
      }
    }
  }
}

/// Halves of words from two lists of numbers, which hold what rounding may get wrong.
void expect_nearest_pairs(void (*pairs)(const float*, const float*, std::uint32_t*)) {
  const std::vector<double> values = half_values(kBF16Format);
  std::vector<float> numbers;
  // What is below the smallest normal number is flushed before it gets here.
  for (const float x : rounding_cases<float>(kBF16Format)) {
    if (x == 0 || std::abs(x) >= std::numeric_limits<float>::min()) numbers.push_back(x);
  }
  numbers.resize(numbers.size() / kSide * kSide);
  for (std::size_t at = 0; at < numbers.size(); at += kSide) {
    alignas(64) float low[kSide], high[kSide];
    alignas(64) std::uint32_t words[kSide];
    for (std::size_t n = 0; n < kSide; ++n) {
      low[n] = numbers[at + n];
      high[n] = numbers[numbers.size() - 1 - at - n];
    }
    pairs(low, high, words);
    for (int n = 0; n < kSide; ++n) {
      ASSERT_EQ(words[n] & 0xffff, nearest_half(values, low[n])) << std::hexfloat << low[n];
      ASSERT_EQ(words[n] >> 16, nearest_half(values, high[n])) << std::hexfloat << high[n];
    }
  }
}

void expect_nan_stays(void (*pairs)(const float*, const float*, std::uint32_t*)) {
  alignas(64) float low[kSide], high[kSide];
  alignas(64) std::uint32_t words[kSide];
  for (int n = 0; n < kSide; ++n) {
    low[n] = std::bit_cast<float>(0x7f800001u | unsigned(n % 2) << 31);
    high[n] = std::numeric_limits<float>::quiet_NaN();
  }
  pairs(low, high, words);
  for (const std::uint32_t word : words) {
    EXPECT_GT(word & 0x7fff, 0x7f80u);
    EXPECT_GT(word >> 16 & 0x7fff, 0x7f80u);
  }
}

TEST(Tiles, PairsAreRoundedToNearestEven) {
  const UnitProbes& units = unit_probes();
  for (const auto pairs : {units.emulated.pairs, units.tiles.pairs, units.dot.pairs}) {
    if (!pairs) continue;
    expect_nearest_pairs(pairs);
    expect_nan_stays(pairs);
  }
}

}  // namespace
}  // namespace regard::test
