// Numbers at the ends of their ranges: positions, biases beside sinks, slopes, caps.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/full_call.h"

namespace regard::test {
namespace {

template <class T>
class Extremes : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Extremes, Types);

template <class T>
testing::AssertionResult holds(const Inputs<T>& in, const Options& options) {
  return matches_oracle(in, options, run_forward(in, options));
}

std::vector<std::int64_t> far_offsets() {
  std::vector<std::int64_t> offsets;
  for (const int bits : {20, 31, 32, 33, 40, 52, 62}) {
    const std::int64_t far = std::int64_t{1} << bits;
    offsets.insert(offsets.end(), {far, -far, far - 7, -far + 3});
  }
  return offsets;
}

// A window as wide as the offset is far reaches back among the keys.
TYPED_TEST(Extremes, WindowsOfFarPositions) {
  const auto in = random_inputs<TypeParam>({1, 1, 1, 12, 40, 4, 4}, 1);
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  auto offsets = far_offsets();
  offsets.insert(offsets.end(), {most, -most - 1});
  for (const std::int64_t offset : offsets) {
    const std::int64_t distance = offset >= 0 ? offset : offset < -most ? most : -offset;
    for (const std::int64_t less : {-3, 0, 5, 30}) {
      const std::int64_t reach = less < 0 && distance > most + less ? most : distance - less;
      for (const Window window : {Window{reach, -1}, Window{-1, reach}, Window{reach, reach}}) {
        for (const Causal causal : {Causal::none, Causal::top_left}) {
          Options options;
          options.window = window;
          options.causal = causal;
          options.q_offset = {&offset, 1};
          EXPECT_TRUE(holds(in, options)) << "offset " << offset << " reach " << reach;
        }
      }
    }
  }
}

TYPED_TEST(Extremes, AlibiOfFarPositions) {
  const auto in = random_inputs<TypeParam>({1, 1, 2, 12, 300, 4, 4}, 2);
  for (const std::int64_t offset : far_offsets()) {
    for (const double slope : {0.5, 0x1p-30, -0x1p-40}) {
      const TypeParam slopes[] = {TypeParam(slope), TypeParam(slope / 2)};
      Options options;
      options.alibi_slopes = view_per_head(slopes, 2);
      options.q_offset = {&offset, 1};
      EXPECT_TRUE(holds(in, options)) << "offset " << offset << " slope " << slope;
    }
  }
}

// Rows full of the least number beside sinks of any size.
TYPED_TEST(Extremes, SinksBesideTheLeastBias) {
  constexpr TypeParam most = std::numeric_limits<TypeParam>::max();
  const auto in = random_inputs<TypeParam>({1, 1, 4, 6, 50, 4, 4}, 3);
  const TypeParam sinks[] = {0, 1000, -1000, -most / 4};
  for (const TypeParam least : {-most, -most / 2, TypeParam(-1e9), most / 4}) {
    Options options;
    options.bias = view(&least, {1, 1, 1, 1});
    options.sinks = view_per_head(sinks, 4);
    EXPECT_TRUE(holds(in, options)) << least;
  }
}

// So far apart that the difference is beyond the type: one of the two is all there is.
TYPED_TEST(Extremes, SinksAtTheOtherEnd) {
  constexpr TypeParam most = std::numeric_limits<TypeParam>::max();
  const auto in = random_inputs<TypeParam>({1, 1, 2, 6, 50, 4, 4}, 3);
  for (const TypeParam bias : {-most, most}) {
    const TypeParam sinks[] = {-bias, -bias / 2};
    Options options;
    options.bias = view(&bias, {1, 1, 1, 1});
    const auto without = run_full(in, options);
    options.sinks = view_per_head(sinks, 2);
    const auto result = run_full(in, options);
    EXPECT_EQ(bool(same_bits(result, without)), bias > 0);
    for_each_index(result.out.shape(), [&](auto b, auto h, auto i, auto d) {
      if (bias > 0) return;
      EXPECT_EQ(result.out.at(b, h, i, d), 0);
      EXPECT_EQ(result.lse.at(b, h, i, 0), sinks[h]);
      EXPECT_EQ(result.entropy.at(b, h, i, 0), 0);
      EXPECT_EQ(result.top_keys.at(b, h, i, 0), -1);
    });
  }
}

// The LSE of a row without keys is its sink: no number, or one that is flushed.
TYPED_TEST(Extremes, SinksOfRowsWithoutKeys) {
  using Limits = std::numeric_limits<TypeParam>;
  const auto in = random_inputs<TypeParam>({1, 1, 3, 6, 50, 4, 4}, 3);
  const TypeParam sinks[] = {Limits::quiet_NaN(), Limits::infinity(), Limits::min() / 8};
  const std::int64_t offset = -3;
  Options options;
  options.causal = Causal::top_left;
  options.q_offset = {&offset, 1};
  options.sinks = view_per_head(sinks, 3);
  EXPECT_TRUE(holds(in, options));
}

// Scores of less than 700 roundoffs, where the bound of an LSE means something.
TYPED_TEST(Extremes, CapsOfAnySize) {
  const auto in = random_inputs<TypeParam>({1, 1, 1, 10, 60, 8, 4}, 4);
  for (const double cap : {1e-36, 1e-20, 1e-3, 1e3, 1e20, 1e36}) {
    for (const double scale : {1e-20, 1.0, 1e8}) {
      Options options;
      options.softcap = cap;
      options.scale = scale;
      EXPECT_TRUE(holds(in, options)) << "softcap " << cap << " scale " << scale;
    }
  }
}

// A query that holds NaN in a row that sees nothing harms nobody, itself included.
TYPED_TEST(Extremes, ASpoiledRowWithoutKeys) {
  auto in = random_inputs<TypeParam>({1, 1, 2, 9, 60, 8, 4}, 5);
  const ProblemShape shape{1, 1, 2, 9, 60, 8, 4};
  const FullOptions<TypeParam> full(shape, 6);  // hides all keys of row 2
  for (const unsigned kinds : {kMask, kMask | kBias | kAlibi | kSoftcap}) {
    const LaidOut<TypeParam> laid(full, kinds);
    const auto expected = run_full(in, laid.options);
    auto spoiled = in;
    spoiled.q.at(0, 0, 2, 3) = std::numeric_limits<TypeParam>::quiet_NaN();
    spoiled.q.at(0, 1, 2, 0) = std::numeric_limits<TypeParam>::infinity();
    EXPECT_TRUE(same_bits(run_full(spoiled, laid.options), expected)) << kinds;
  }
}

}  // namespace
}  // namespace regard::test
