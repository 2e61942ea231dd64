// A row's bits depend on its own query, keys and options alone: not on threads, batch, place,
// strides, or the number and contents of other rows.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/engine.h"

namespace regard::test {
namespace {

template <class T>
class SameBits : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(SameBits, Types);

template <class T>
void copy_row(const TestTensor<T>& from, std::int64_t b, std::int64_t h, std::int64_t s,
              TestTensor<T>& to, std::int64_t to_b, std::int64_t to_h, std::int64_t to_s) {
  for (std::int64_t d = 0; d < from.shape()[3]; ++d) {
    to.at(to_b, to_h, to_s, d) = from.at(b, h, s, d);
  }
}

std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
std::uint64_t bits(double value) {
  return std::bit_cast<std::uint64_t>(value);
}

template <class T>
::testing::AssertionResult row_equal(const Result<T>& a, std::int64_t b, std::int64_t h,
                                     std::int64_t i, const Result<T>& x, std::int64_t xb,
                                     std::int64_t xh, std::int64_t xi) {
  for (std::int64_t d = 0; d < a.out.shape()[3]; ++d) {
    if (bits(a.out.at(b, h, i, d)) != bits(x.out.at(xb, xh, xi, d))) {
      return ::testing::AssertionFailure()
             << "d=" << d << ": " << a.out.at(b, h, i, d) << " and " << x.out.at(xb, xh, xi, d);
    }
  }
  if (bits(a.lse.at(b, h, i, 0)) != bits(x.lse.at(xb, xh, xi, 0))) {
    return ::testing::AssertionFailure()
           << "lse " << a.lse.at(b, h, i, 0) << " and " << x.lse.at(xb, xh, xi, 0);
  }
  return ::testing::AssertionSuccess();
}

TYPED_TEST(SameBits, AnyNumberOfThreads) {
  const auto in = random_inputs<TypeParam>({2, 2, 2, 333, 401, 32, 20}, 1);
  for (const Causal causal : {Causal::none, Causal::bottom_right}) {
    Options options;
    options.causal = causal;
    const auto alone = run_forward(in, options);
    for (const int threads : {2, 5}) {
      const auto together = run_forward(in, options, Context(threads));
      EXPECT_TRUE(together.out.same_bits(alone.out)) << threads;
      EXPECT_TRUE(together.lse.same_bits(alone.lse)) << threads;
    }
  }
}

TYPED_TEST(SameBits, AnyLayout) {
  const auto in = random_inputs<TypeParam>({2, 1, 3, 29, 77, 24, 13}, 2);
  Options options;
  options.causal = Causal::bottom_right;
  const auto dense = run_forward(in, options);
  for (const Layout layout : kInputLayouts) {
    const auto result = run_forward(in.template copy<TypeParam>(layout), options);
    EXPECT_TRUE(result.out.same_bits(dense.out)) << int(layout);
    EXPECT_TRUE(result.lse.same_bits(dense.lse)) << int(layout);
  }
}

TYPED_TEST(SameBits, AnyBatch) {
  const auto in = random_inputs<TypeParam>({7, 2, 1, 31, 43, 16, 16}, 3);
  const auto batch = run_forward(in, {});
  for (std::int64_t b = 0; b < 7; ++b) {
    auto single = random_inputs<TypeParam>({1, 2, 1, 31, 43, 16, 16}, 99);
    for (std::int64_t h = 0; h < 2; ++h) {
      for (std::int64_t s = 0; s < 31; ++s) copy_row(in.q, b, h, s, single.q, 0, h, s);
      for (std::int64_t s = 0; s < 43; ++s) {
        copy_row(in.k, b, h, s, single.k, 0, h, s);
        copy_row(in.v, b, h, s, single.v, 0, h, s);
      }
    }
    const auto alone = run_forward(single, {});
    for (std::int64_t h = 0; h < 2; ++h) {
      for (std::int64_t i = 0; i < 31; ++i) {
        EXPECT_TRUE(row_equal(batch, b, h, i, alone, 0, h, i)) << b << ' ' << h << ' ' << i;
      }
    }
  }
}

// One query placed at every row of problems of every ragged width, with q_offset keeping its
// position: always the bits it has alone.
TYPED_TEST(SameBits, AnyPlaceInATile) {
  const std::int64_t skv = 230, d = 12, position = 205;
  const auto in = random_inputs<TypeParam>({1, 1, 1, 1, skv, d, d}, 4);
  Options options;
  options.causal = Causal::top_left;
  const std::vector<std::int64_t> own = {position};
  options.q_offset = own;
  const auto alone = run_forward(in, options);
  for (std::int64_t sq = 1; sq <= 100; sq += sq < 52 ? 1 : 13) {
    for (std::int64_t place = 0; place < sq; place += 1 + sq / 7) {
      auto many = random_inputs<TypeParam>({1, 1, 1, sq, skv, d, d}, std::uint64_t(sq));
      many.k = in.k;
      many.v = in.v;
      copy_row(in.q, 0, 0, 0, many.q, 0, 0, place);
      const std::vector<std::int64_t> offset = {position - place};
      options.q_offset = offset;
      EXPECT_TRUE(row_equal(run_forward(many, options), 0, 0, place, alone, 0, 0, 0))
          << place << " of " << sq;
    }
  }
}

// Neighbours in the same tile that raise their reference, hold NaN, or see nothing.
TYPED_TEST(SameBits, AnyNeighbours) {
  const std::int64_t sq = 48, skv = 400, d = 8;
  const auto calm = random_inputs<TypeParam>({1, 1, 1, sq, skv, d, d}, 5);
  for (const Causal causal : {Causal::none, Causal::bottom_right}) {
    Options options;
    options.causal = causal;
    const auto expected = run_forward(calm, options);
    auto in = calm;
    for (std::int64_t c = 0; c < d; ++c) {
      in.q.at(0, 0, 10, c) = std::numeric_limits<TypeParam>::quiet_NaN();
      in.q.at(0, 0, 12, c) = std::numeric_limits<TypeParam>::infinity();
      in.q.at(0, 0, 20, c) *= 100;  // raises again and again
      in.q.at(0, 0, 33, c) *= -100;
    }
    const auto result = run_forward(in, options);
    for (std::int64_t i = 0; i < sq; ++i) {
      if (i == 10 || i == 12 || i == 20 || i == 33) continue;
      EXPECT_TRUE(row_equal(result, 0, 0, i, expected, 0, 0, i)) << i;
    }
  }
}

// The heads of a group are rows of one space: each gives the bits of an ungrouped call.
TYPED_TEST(SameBits, AnyGroup) {
  const std::int64_t sq = 23, skv = 61, d = 16;
  for (const std::int64_t group : {2, 3, 8}) {
    const auto in = random_inputs<TypeParam>({1, 2, group, sq, skv, d, d}, 6);
    Options options;
    options.causal = Causal::bottom_right;
    const auto grouped = run_forward(in, options);
    for (std::int64_t h = 0; h < 2 * group; ++h) {
      auto single = random_inputs<TypeParam>({1, 1, 1, sq, skv, d, d}, 7);
      for (std::int64_t s = 0; s < sq; ++s) copy_row(in.q, 0, h, s, single.q, 0, 0, s);
      for (std::int64_t s = 0; s < skv; ++s) {
        copy_row(in.k, 0, h / group, s, single.k, 0, 0, s);
        copy_row(in.v, 0, h / group, s, single.v, 0, 0, s);
      }
      const auto alone = run_forward(single, options);
      for (std::int64_t i = 0; i < sq; ++i) {
        EXPECT_TRUE(row_equal(grouped, 0, h, i, alone, 0, 0, i)) << h << ' ' << i;
      }
    }
  }
}

// More keys than a row sees change nothing, and neither does asking for more outputs.
TYPED_TEST(SameBits, AnyNumberOfUnseenKeys) {
  const std::int64_t sq = 20, d = 8;
  const auto in = random_inputs<TypeParam>({1, 1, 1, sq, 500, d, d}, 8);
  Options options;
  options.causal = Causal::top_left;
  const auto long_keys = run_forward(in, options);
  for (const std::int64_t skv : {20, 21, 24, 200}) {
    auto shorter = random_inputs<TypeParam>({1, 1, 1, sq, skv, d, d}, 9);
    shorter.q = in.q;
    for (std::int64_t s = 0; s < skv; ++s) {
      copy_row(in.k, 0, 0, s, shorter.k, 0, 0, s);
      copy_row(in.v, 0, 0, s, shorter.v, 0, 0, s);
    }
    const auto result = run_forward(shorter, options);
    EXPECT_TRUE(result.out.same_bits(long_keys.out)) << skv;
  }
}

}  // namespace
}  // namespace regard::test
