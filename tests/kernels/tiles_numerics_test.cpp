// Path tiles where floating point is hard: large, growing and capped scores, values at the ends of
// their range, subnormal inputs, far positions; and its rms error on normal data.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/tiles.h"

namespace regard::test {
namespace {

void fill(TestTensor<BF16>& tensor, double value) {
  for_each_index(tensor.shape(), [&](auto b, auto h, auto s, auto d) {
    tensor.at(b, h, s, d) = converted<BF16>(value);
  });
}

void scale_all(TestTensor<BF16>& tensor, double factor) {
  for_each_index(tensor.shape(), [&](auto b, auto h, auto s, auto d) {
    BF16& x = tensor.at(b, h, s, d);
    x = converted<BF16>(double(to_float(x)) * factor);
  });
}

TEST(TilesNumerics, LargeScores) {
  for (const double deviation : {4.0, 15.0, 60.0}) {
    SCOPED_TRACE(deviation);
    auto in = random_inputs<BF16>({1, 2, 1, 70, 420, 64, 16}, 1);
    in.q = normal_tensor<BF16>(in.q.shape(), 2, Layout::bhsd, deviation);
    for (const Causal causal : {Causal::none, Causal::bottom_right}) {
      EXPECT_TRUE(tiles_hold(in, on_tiles(causal)));
    }
  }
}

/// Scores that rise by `step` (in base-2 exponents) from key to key, as far as bf16 has it.
Inputs<BF16> rising_scores(std::int64_t sq, std::int64_t skv, double step) {
  auto in = random_inputs<BF16>({1, 1, 1, sq, skv, 2, 8}, 3);
  for (std::int64_t i = 0; i < sq; ++i) {
    in.q.at(0, 0, i, 0) = in.q.at(0, 0, i, 1) = converted<BF16>(step / std::log2(std::exp(1.0)));
  }
  for (std::int64_t j = 0; j < skv; ++j) {
    in.k.at(0, 0, j, 0) = converted<BF16>(double(j - j % 256));
    in.k.at(0, 0, j, 1) = converted<BF16>(double(j % 256));
  }
  return in;
}

TEST(TilesNumerics, RisingAndFallingScores) {
  Options options;
  options.scale = 1;
  for (const double step : {1e-3, 0.05, 0.2, 1.0, 4.0, 100.0, -0.05, -1.0, -100.0}) {
    SCOPED_TRACE(step);
    const auto in = rising_scores(50, 1000, step);
    for (const Causal causal : {Causal::none, Causal::bottom_right}) {
      options.causal = causal;
      EXPECT_TRUE(tiles_hold(in, options));
    }
  }
}

TEST(TilesNumerics, OneOutlierKey) {
  for (const std::int64_t key : {0, 5, 100, 511, 512, 700, 999}) {
    SCOPED_TRACE(key);
    auto in = random_inputs<BF16>({1, 1, 1, 60, 1000, 16, 8}, 4);
    for (std::int64_t d = 0; d < 16; ++d) {
      in.k.at(0, 0, key, d) = converted<BF16>(double(to_float(in.q.at(0, 0, 31, d))) * 40);
    }
    EXPECT_TRUE(tiles_hold(in));
  }
}

// docs/numerics.md: out stays finite for |v| below this limit, even while the reference is stale.
TEST(TilesNumerics, LargestValuesStayFinite) {
  Options options;
  options.scale = 1;
  for (const double step : {0.0, 0.15, 0.165, 1.0}) {
    SCOPED_TRACE(step);
    auto in = rising_scores(20, 1000, step);
    fill(in.v, 0x1p94);
    const auto result = run_tiles(in, options);
    for_each_index(result.out.shape(), [&](auto b, auto h, auto s, auto d) {
      EXPECT_NEAR(double(result.out.at(b, h, s, d)) * 0x1p-94, 1, 0x1p-7);
    });
  }
}

// Equal terms round in one direction.
TEST(TilesNumerics, ConstantVectors) {
  for (const std::int64_t d : {16, 64, 576}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(testing::Message() << "D=" << d << " seed=" << seed);
      const auto constants = uniform_tensor<double>({1, 1, 1, 3}, seed, 0.1, 2);
      auto in = random_inputs<BF16>({1, 1, 1, 1, 1 + std::int64_t(seed) * 19, d, 1}, 9);
      fill(in.q, constants.at(0, 0, 0, 0));
      fill(in.k, constants.at(0, 0, 0, 1));
      fill(in.v, constants.at(0, 0, 0, 2));
      EXPECT_TRUE(tiles_hold(in));
    }
  }
}

// O of a tile unit meets an addition for each 32 keys: where terms are equal, and where one is far
// above those that follow.
TEST(TilesNumerics, LongRows) {
  for (const std::int64_t keys : {20000, 65536}) {
    SCOPED_TRACE(keys);
    auto in = random_inputs<BF16>({1, 1, 1, 20, keys, 16, 3}, 9);
    fill(in.q, 0.3);
    fill(in.k, 0.7);
    for (std::int64_t j = 0; j < keys; ++j) {
      for (std::int64_t d = 0; d < 3; ++d) in.v.at(0, 0, j, d) = converted<BF16>(0.7 + double(d));
    }
    EXPECT_TRUE(tiles_hold(in));
    for (std::int64_t d = 0; d < 16; ++d) in.k.at(0, 0, 0, d) = converted<BF16>(8.0);
    EXPECT_TRUE(tiles_hold(in));
  }
}

// Out alone: exponents of millions below the reference, near 0 and far from it, are weights of 0.
TEST(TilesNumerics, OutAloneOfDistantScores) {
  for (const double reference : {0.0, 3.0, 1e5, 1e9}) {
    for (const double distance : {1e3, 1e7, 1e12}) {
      SCOPED_TRACE(testing::Message() << reference << " and " << distance << " below");
      auto in = random_inputs<BF16>({1, 1, 1, 40, 400, 2, 8}, 5);
      fill(in.q, 1);
      for (std::int64_t j = 0; j < 400; ++j) {
        in.k.at(0, 0, j, 0) = converted<BF16>(reference);
        in.k.at(0, 0, j, 1) = converted<BF16>(j % 3 == 0 ? 0 : -distance);
      }
      Options options;
      options.scale = 1;
      auto result = run_tiles(in, options);
      result.out = run_out<BF16, float>(in, on_tiles(options));
      EXPECT_TRUE(matches_oracle(in, on_tiles(options), result));
    }
  }
}

// A row that sees one key returns that value exactly: 2^0 is 1, also as bf16, whatever the score.
TEST(TilesNumerics, OneKeyGivesItsValueExactly) {
  const auto in = random_inputs<BF16>({1, 1, 8, 30, 30, 40, 24}, 7);
  Options options = on_tiles(Causal::top_left);
  for (const double scale : {0.16, 1.0, 30.0, 300.0, 1e3, 1e5, -1e3, 1e9, 1e30}) {
    options.scale = scale;
    const auto result = run_tiles(in, options);
    const auto alone = run_out<BF16, float>(in, options);
    for_each_index({1, 8, 1, 24}, [&](auto, auto h, auto, auto d) {
      EXPECT_EQ(result.out.at(0, h, 0, d), to_float(in.v.at(0, 0, 0, d))) << scale;
      EXPECT_EQ(alone.at(0, h, 0, d), to_float(in.v.at(0, 0, 0, d))) << scale;
    });
  }
}

// Scores so large that a rounding of the largest is more than all exponents, in some rows only.
TEST(TilesNumerics, OutAloneOfHugeScores) {
  auto in = random_inputs<BF16>({1, 1, 1, 40, 230, 8, 5}, 5);
  for (std::int64_t d = 0; d < 8; ++d) in.q.at(0, 0, 3, d) = converted<BF16>(0.0);
  for (const double scale :
       {1e3, 3e3, 1e4, 1e6, 1e8, 1e9, 1e10, 1e15, 1e30, 1e36, -1e9, -1e30, -1e36}) {
    for (const Causal causal : {Causal::none, Causal::bottom_right}) {
      Options options = on_tiles(causal);
      options.scale = scale;
      auto result = run_tiles(in, options);
      result.out = run_out<BF16, float>(in, options);
      EXPECT_TRUE(matches_oracle(in, options, result)) << scale;
    }
  }
}

// Units count a subnormal input as 0, and partial sums that are subnormal.
TEST(TilesNumerics, SubnormalAndTinyValues) {
  for (const double tiny : {0x1p-133, 0x1p-128, 0x1p-126, 0x1p-120}) {
    auto in = random_inputs<BF16>({1, 1, 1, 20, 300, 8, 8}, 6);
    scale_all(in.v, tiny);
    EXPECT_TRUE(tiles_hold(in)) << tiny;
  }
}

// Where a subnormal q or k meets a number near the top of the range, scores differ visibly.
TEST(TilesNumerics, SubnormalQueriesAndKeys) {
  for (const double tiny : {0x1p-133, 0x1p-128, 0x1p-126, 0x1p-123}) {
    for (const double huge : {0x1p100, 0x1p120, 0x1p125}) {
      for (const bool in_keys : {false, true}) {
        SCOPED_TRACE(testing::Message() << tiny << ' ' << huge << ' ' << in_keys);
        auto in = random_inputs<BF16>({1, 1, 1, 20, 300, 8, 8}, 6);
        scale_all(in_keys ? in.k : in.q, tiny);
        scale_all(in_keys ? in.q : in.k, huge);
        EXPECT_TRUE(tiles_hold(in));
        Options options;
        options.scale = -1.9;
        EXPECT_TRUE(tiles_hold(in, options));
        options.softcap = 3;
        EXPECT_TRUE(tiles_hold(in, options));
      }
    }
  }
}

TEST(TilesNumerics, ScalesAsGiven) {
  const auto in = random_inputs<BF16>({1, 1, 1, 33, 70, 33, 8}, 13);
  for (const double scale : {0.0, -0.5, 1.0, 30.0, 0x1p-120, 1e30}) {
    SCOPED_TRACE(scale);
    Options options = on_tiles(Causal::bottom_right);
    options.scale = scale;
    EXPECT_TRUE(tiles_hold(in, options));
  }
}

TEST(TilesNumerics, CapsOfAnySize) {
  const auto in = random_inputs<BF16>({1, 1, 1, 10, 60, 8, 4}, 4);
  for (const double cap : {1e-36, 1e-20, 1e-3, 1e3, 1e20, 1e36}) {
    for (const double scale : {1e-20, 1.0, 1e8}) {
      Options options;
      options.softcap = cap;
      options.scale = scale;
      EXPECT_TRUE(tiles_hold(in, options)) << "softcap " << cap << " scale " << scale;
    }
  }
}

TEST(TilesNumerics, AlibiAndWindowsOfFarPositions) {
  const auto in = random_inputs<BF16>({1, 1, 2, 12, 300, 4, 4}, 2);
  for (const std::int64_t offset : {std::int64_t{1} << 20, -(std::int64_t{1} << 33),
                                    (std::int64_t{1} << 62) - 7, -(std::int64_t{1} << 62)}) {
    Options options;
    options.q_offset = {&offset, 1};
    for (const float slope : {0.5f, 0x1p-30f, -0x1p-40f}) {
      const float slopes[] = {slope, slope / 2};
      options.alibi_slopes = view_per_head(slopes, 2);
      EXPECT_TRUE(tiles_hold(in, options)) << "offset " << offset << " slope " << slope;
    }
    options.alibi_slopes = {};
    options.window = offset > 0 ? Window{offset, -1} : Window{-1, 5 - offset};
    EXPECT_TRUE(tiles_hold(in, options)) << "offset " << offset;
  }
}

TEST(TilesNumerics, SinksBesideTheLeastBias) {
  constexpr float most = std::numeric_limits<float>::max();
  const auto in = random_inputs<BF16>({1, 1, 4, 6, 50, 4, 4}, 3);
  const float sinks[] = {0, 1000, -1000, -most / 4};
  for (const float least : {-most, -most / 2, -1e9f, most / 4}) {
    Options options;
    options.bias = view(&least, {1, 1, 1, 1});
    options.sinks = view_per_head(sinks, 4);
    EXPECT_TRUE(tiles_hold(in, options)) << least;
  }
}

TEST(TilesAccuracy, RmsErrorIsAtMostTwiceAPlainImplementation) {
  for (const ProblemShape& shape :
       {ProblemShape{1, 2, 1, 128, 128, 64, 64}, ProblemShape{1, 1, 1, 64, 1024, 128, 128}}) {
    if (kSanitized && shape.skv > 128) continue;
    for (const Causal causal : {Causal::none, Causal::bottom_right}) {
      SCOPED_TRACE(testing::Message() << shape << " causal=" << int(causal));
      const auto in = random_inputs<BF16>(shape, 8);
      const Options options = on_tiles(causal);
      const auto sums = distances(in, options, run_tiles(in, options).out);
      RecordProperty("rms_ratio", std::to_string(std::sqrt(sums.ours / sums.plain)));
      EXPECT_LE(sums.ours, 4 * sums.plain);
      const auto alone = distances(in, options, run_out<BF16, float>(in, options));
      RecordProperty("rms_ratio_alone", std::to_string(std::sqrt(alone.ours / alone.plain)));
      EXPECT_LE(alone.ours, 4 * alone.plain);
    }
  }
}

// A bias of the roundings would show in sums of values that all are positive.
TEST(TilesAccuracy, MeanErrorIsCentred) {
  auto in = random_inputs<BF16>({1, 1, 1, 64, 1024, 64, 64}, 8);
  fill(in.v, 1);
  const auto result = run_tiles(in);
  double sum = 0;
  for_each_index(result.out.shape(), [&](auto b, auto h, auto s, auto d) {
    if (d == 0) sum += double(result.out.at(b, h, s, d)) - 1;
  });
  RecordProperty("mean_error", std::to_string(sum / 64));
  // Each row's error is a mean of a thousand roundings of up to 2^-9.
  EXPECT_LE(std::abs(sum / 64), 0x1p-13);
}

}  // namespace
}  // namespace regard::test
