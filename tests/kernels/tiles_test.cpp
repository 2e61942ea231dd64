// Path tiles at every size of its tiles: head sizes that fill no chunk, values of another size,
// lengths that cut pairs, K in place and copied. The bound alone would forgive a lost key among
// hundreds, so the rms error is held to that of a plain implementation.
#include "kernels/tiles.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <vector>

#include "support/guarded.h"

namespace regard::test {
namespace {

/// With few rows the rms error is a matter of luck.
testing::AssertionResult is_right(const Inputs<BF16>& in, const Options& options,
                                  const Result<BF16, float>& result) {
  auto verdict = matches_oracle(in, on_tiles(options), result);
  if (!verdict || in.q.shape()[2] < 16) return verdict;
  verdict = as_good_as_plain(in, options, result.out);
  if (!verdict) return verdict;
  const auto alone = run_out<BF16, float>(in, on_tiles(options));
  return as_good_as_plain(in, options, alone) << " where out alone is wanted";
}

constexpr std::int64_t kTileHeadSizes[] = {1, 2, 3, 31, 32, 33, 64, 80, 111, 576};

TEST(Tiles, EveryHeadSize) {
  std::uint64_t seed = 0;
  for (const std::int64_t d : kTileHeadSizes) {
    for (const std::int64_t dv : {d, std::int64_t{15}, std::int64_t{16}, std::int64_t{49}}) {
      const ProblemShape shape{1, 2, 2, 19, 67, d, dv};
      const Layout layout = kInputLayouts[seed % std::size(kInputLayouts)];
      SCOPED_TRACE(testing::Message() << shape << " layout " << int(layout));
      const auto in = random_inputs<BF16>(shape, ++seed, layout);
      Options options;
      options.causal = Causal::bottom_right;
      EXPECT_TRUE(is_right(in, options, run_tiles(in, options)));
    }
  }
}

TEST(Tiles, EveryLength) {
  std::vector<std::int64_t> lengths(std::begin(kLengths), std::end(kLengths));
  lengths.insert(lengths.end(), {511, 512, 513, 577});  // blocks of tile units have 512 keys
  for (const std::int64_t sq : {1, 16, 33, 70}) {
    for (const std::int64_t skv : lengths) {
      SCOPED_TRACE(testing::Message() << "Sq=" << sq << " Skv=" << skv);
      const auto in = random_inputs<BF16>({1, 1, 1, sq, skv, 32, 24}, std::uint64_t(skv));
      for (const Causal causal : {Causal::none, Causal::bottom_right}) {
        Options options;
        options.causal = causal;
        EXPECT_TRUE(is_right(in, options, run_tiles(in, options)));
      }
    }
  }
}

TEST(Tiles, LongerThanAKeyBlockAndARowItem) {
  const auto in = random_inputs<BF16>({1, 1, 3, 301, 1009, 64, 64}, 12);
  const Options causal = on_tiles(Causal::bottom_right);
  const auto result = run_tiles(in, causal);
  EXPECT_TRUE(matches_oracle(in, causal, result, 200));
  EXPECT_TRUE(as_good_as_plain(in, causal, result.out));
}

// K is read in place where columns are neighbours and fill whole chunks, else copied; P and V meet
// by pairs of keys either way.
TEST(Tiles, GiveTheSameBitsForAnyLayout) {
  for (const std::int64_t d : {2, 31, 32, 64, 96}) {
    const auto in = random_inputs<BF16>({2, 1, 3, 29, 221, d, 35}, 2);
    const Options options = on_tiles(Causal::bottom_right);
    const auto dense = run_tiles(in, options);
    for (const Layout layout : kInputLayouts) {
      const auto result = run_tiles(in.copy<BF16>(layout), options);
      EXPECT_TRUE(result.out.same_bits(dense.out)) << d << " layout " << int(layout);
      EXPECT_TRUE(result.lse.same_bits(dense.lse)) << d << " layout " << int(layout);
    }
  }
}

::testing::AssertionResult row_equal(const Result<BF16, float>& a, std::int64_t i,
                                     const Result<BF16, float>& x, std::int64_t xi) {
  for (std::int64_t d = 0; d < a.out.shape()[3]; ++d) {
    const float one = a.out.at(0, 0, i, d), other = x.out.at(0, 0, xi, d);
    if (std::bit_cast<std::uint32_t>(one) != std::bit_cast<std::uint32_t>(other)) {
      return ::testing::AssertionFailure() << "d=" << d << ": " << one << " and " << other;
    }
  }
  const float one = a.lse.at(0, 0, i, 0), other = x.lse.at(0, 0, xi, 0);
  if (std::bit_cast<std::uint32_t>(one) == std::bit_cast<std::uint32_t>(other))
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "lse " << one << " and " << other;
}

void copy_row(const TestTensor<BF16>& from, std::int64_t s, TestTensor<BF16>& to,
              std::int64_t to_s) {
  for (std::int64_t d = 0; d < from.shape()[3]; ++d) to.at(0, 0, to_s, d) = from.at(0, 0, s, d);
}

// One query at every row of problems of every width: a tile has 16 to 64 rows, in steps of 16.
TEST(Tiles, GiveTheSameBitsAtAnyPlace) {
  const std::int64_t skv = 230, d = 32, position = 205;
  const auto in = random_inputs<BF16>({1, 1, 1, 1, skv, d, d}, 4);
  const std::vector<std::int64_t> own = {position};
  Options options = on_tiles(Causal::top_left);
  options.q_offset = own;
  const auto alone = run_tiles(in, options);
  for (std::int64_t sq = 1; sq <= 100; sq += sq < 66 ? 1 : 13) {
    for (std::int64_t place = 0; place < sq; place += 1 + sq / 5) {
      auto many = random_inputs<BF16>({1, 1, 1, sq, skv, d, d}, std::uint64_t(sq));
      many.k = in.k;
      many.v = in.v;
      copy_row(in.q, 0, many.q, place);
      const std::vector<std::int64_t> offset = {position - place};
      options.q_offset = offset;
      EXPECT_TRUE(row_equal(run_tiles(many, options), place, alone, 0)) << place << " of " << sq;
    }
  }
}

// The reference is as large as the scores: a weight comes from their difference, whatever they are.
TEST(Tiles, WeighScoresOfAnySizeThatIsFinite) {
  for (const double size : {1e3, 3e3, 1e4, 1e9, 1e12, 1e30, 1e36, 1e38}) {
    for (const double first : {-1.0, 1.0}) {
      for (const std::int64_t many : {1, 512, 519}) {
        // Two columns: what all keys have, and a size for the first `many` keys.
        auto in = random_inputs<BF16>({1, 1, 1, 20, 550, 2, 8}, 9);
        for (std::int64_t i = 0; i < 20; ++i) in.q.at(0, 0, i, 0) = converted<BF16>(1.0);
        for (std::int64_t j = 0; j < 550; ++j) {
          in.k.at(0, 0, j, 0) = converted<BF16>(j < many ? first * size : 0.0);
        }
        SCOPED_TRACE(testing::Message() << size << ' ' << first << ' ' << many);
        Options options;
        options.scale = 1;
        auto result = run_tiles(in, options);
        result.out = run_out<BF16, float>(in, on_tiles(options));
        EXPECT_TRUE(matches_oracle(in, on_tiles(options), result));
      }
    }
  }
}

TEST(Tiles, GiveTheSameBitsBesideRowsOfLargeScores) {
  const auto calm = random_inputs<BF16>({1, 1, 1, 70, 400, 32, 20}, 6);
  for (const Causal causal : {Causal::none, Causal::bottom_right}) {
    const Options options = on_tiles(causal);
    const auto expected = run_out<BF16, float>(calm, options);
    auto in = calm;
    for (const std::int64_t i : {3, 17, 40, 69}) {
      for (std::int64_t d = 0; d < 32; ++d) {
        in.q.at(0, 0, i, d) = converted<BF16>(double(to_float(in.q.at(0, 0, i, d))) * 1e5);
      }
    }
    const auto result = run_out<BF16, float>(in, options);
    for_each_index(result.shape(), [&](auto b, auto h, auto i, auto d) {
      if (i == 3 || i == 17 || i == 40 || i == 69) return;
      EXPECT_EQ(std::bit_cast<std::uint32_t>(result.at(b, h, i, d)),
                std::bit_cast<std::uint32_t>(expected.at(b, h, i, d)))
          << i << ' ' << d;
    });
  }
}

TEST(Tiles, TakeAScaleOfZeroBeforeProductsOverflow) {
  auto in = random_inputs<BF16>({1, 1, 1, 20, 70, 8, 5}, 5);
  for_each_index(in.q.shape(), [&](auto b, auto h, auto i, auto d) {
    in.q.at(b, h, i, d) = converted<BF16>(0x1p100);
  });
  for_each_index(in.k.shape(), [&](auto b, auto h, auto j, auto d) {
    in.k.at(b, h, j, d) = converted<BF16>(0x1p100);
  });
  Options options;
  options.scale = 0;
  auto result = run_tiles(in, options);
  EXPECT_TRUE(matches_oracle(in, on_tiles(options), result));
  result.out = run_out<BF16, float>(in, on_tiles(options));
  EXPECT_TRUE(matches_oracle(in, on_tiles(options), result));
}

// Key j is poisoned: rows before it keep the bits they have with a clean key, in the same tile too;
// of V, one column of the rows that see it is spoiled. Blocks have 512 keys, chunks 32, pairs 2.
TEST(Tiles, HidePoisonInPartialTiles) {
  const ProblemShape shape{1, 1, 1, 530, 530, 64, 40};
  const auto clean = random_inputs<BF16>(shape, 1);
  const Options options = on_tiles(Causal::top_left);
  const auto expected = run_tiles(clean, options);
  for (const std::int64_t key : {0, 1, 30, 31, 32, 33, 200, 511, 512, 513, 529}) {
    for (const std::uint16_t poison :
         std::initializer_list<std::uint16_t>{0x7fc0, 0x7f80, 0xff80}) {
      for (const bool in_values : {false, true}) {
        SCOPED_TRACE(testing::Message() << key << ' ' << poison << ' ' << in_values);
        auto in = clean;
        (in_values ? in.v : in.k).at(0, 0, key, 37) = BF16{poison};
        const auto result = run_tiles(in, options);
        for_each_index(shape.out(), [&](auto b, auto h, auto i, auto d) {
          const float got = result.out.at(b, h, i, d);
          if (i >= key && (!in_values || d == 37)) {
            ASSERT_FALSE(std::isfinite(got)) << i << ' ' << d;
          } else {
            ASSERT_EQ(got, expected.out.at(b, h, i, d)) << i << ' ' << d;
          }
        });
      }
    }
  }
}

// Infinities that a row sees in V keep their sign, in any number, beside what is finite.
TEST(Tiles, KeepInfinitiesOfValues) {
  auto in = random_inputs<BF16>({1, 1, 1, 40, 70, 32, 33}, 2);
  in.v.at(0, 0, 3, 0) = in.v.at(0, 0, 64, 0) = BF16{0x7f80};
  in.v.at(0, 0, 5, 16) = BF16{0xff80};
  in.v.at(0, 0, 6, 32) = BF16{0x7f80};
  in.v.at(0, 0, 7, 32) = BF16{0xff80};
  const auto result = run_tiles(in);
  for (std::int64_t i = 0; i < 40; ++i) {
    EXPECT_EQ(result.out.at(0, 0, i, 0), HUGE_VALF);
    EXPECT_EQ(result.out.at(0, 0, i, 16), -HUGE_VALF);
    EXPECT_TRUE(std::isnan(result.out.at(0, 0, i, 32)));
    EXPECT_TRUE(std::isfinite(result.out.at(0, 0, i, 1)));
  }
}

// A sum that is flushed leaves a zero of either sign, which hidden keys of later blocks keep.
TEST(Tiles, GiveTheSameBitsWhereSumsAreFlushed) {
  auto in = random_inputs<BF16>({1, 1, 1, 2, 1536, 2, 2}, 5);
  for_each_index(in.q.shape(),
                 [&](auto b, auto h, auto s, auto d) { in.q.at(b, h, s, d) = BF16{0}; });
  for_each_index(in.v.shape(),
                 [&](auto b, auto h, auto s, auto d) { in.v.at(b, h, s, d) = BF16{0}; });
  in.v.at(0, 0, 0, 0) = in.v.at(0, 0, 0, 1) = to_bf16(0x1p-126F);
  in.v.at(0, 0, 512, 0) = to_bf16(-0x1.8p-126F);  // the sum is -2^-127
  in.v.at(0, 0, 512, 1) = to_bf16(-0x1p-126F);
  const std::vector<std::int64_t> offset = {1023};
  Options options = on_tiles(Causal::top_left);
  options.q_offset = offset;
  const auto both = run_tiles(in, options);  // row 1 sees one key of the third block
  Inputs<BF16> first = in;
  first.q = TestTensor<BF16>({1, 1, 1, 2});
  copy_row(in.q, 0, first.q, 0);
  EXPECT_TRUE(row_equal(both, 0, run_tiles(first, options), 0));
}

// Arrays end at unreadable pages on either side, and keys that no row sees are unreadable.
TEST(Tiles, ReadNothingElse) {
  using Guarded = GuardedArray<BF16>;
  const std::int64_t sq = 7;
  for (const auto side : {Guarded::Against::front, Guarded::Against::back}) {
    for (const std::int64_t seen : {1, 3, 31, 32, 33, 50, 193, 224}) {
      for (const std::int64_t d : {1, 2, 31, 32, 64}) {
        SCOPED_TRACE(testing::Message() << "seen " << seen << " d " << d);
        const auto in = random_inputs<BF16>({1, 1, 1, sq, seen, d, d}, 4);
        Guarded q(sq * d, side), k(seen * d, side), v(seen * d, side);
        std::memcpy(q.data(), in.q.data(), std::size_t(sq * d) * sizeof(BF16));
        std::memcpy(k.data(), in.k.data(), std::size_t(seen * d) * sizeof(BF16));
        std::memcpy(v.data(), in.v.data(), std::size_t(seen * d) * sizeof(BF16));
        // Four times as many keys as exist; the last row's position is the last real key.
        const Shape rows{1, 1, sq, d}, keys{1, 1, 4 * seen, d};
        const std::vector<std::int64_t> offset = {seen - sq};
        Options options = on_tiles(Causal::top_left);
        options.q_offset = offset;
        const auto guarded = [](const Guarded& array, const Shape& shape) {
          return ConstTensor{array.data(), DType::bf16, shape, dense_strides(shape)};
        };
        TestTensor<float> out(rows);
        const Status status = forward(one_thread(), guarded(q, rows), guarded(k, keys),
                                      guarded(v, keys), {.out = out.tensor()}, options);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_TRUE(out.same_bits(run_out<BF16, float>(in, options)));
      }
    }
  }
}

}  // namespace
}  // namespace regard::test
