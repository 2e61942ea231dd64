// Hidden keys never reach a row, whatever stands there; keys that no row sees are not even read;
// non-finite visible values spoil exactly the rows that see them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/engine.h"
#include "support/guarded.h"

namespace regard::test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

template <class T>
class Hidden : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Hidden, Types);

// Key j is poisoned: rows before it must keep the bits they have with a clean key, rows from it on
// must be spoiled. Swept over a whole tile and past a block edge.
TYPED_TEST(Hidden, PoisonReachesOnlyTheRowsThatSeeIt) {
  const ProblemShape shape{1, 1, 2, 210, 210, 24, 11};
  const auto clean = random_inputs<TypeParam>(shape, 1);
  Options options;
  options.causal = Causal::top_left;
  const auto expected = run_forward(clean, options);
  for (const std::int64_t key : {0, 1, 3, 7, 8, 9, 47, 48, 50, 100, 191, 192, 193, 209}) {
    for (const double poison : {kNaN, kInf, -kInf}) {
      for (const bool in_values : {false, true}) {
        SCOPED_TRACE(testing::Message() << key << ' ' << poison << ' ' << in_values);
        auto in = clean;
        (in_values ? in.v : in.k).at(0, 0, key, 5) = TypeParam(poison);
        const auto result = run_forward(in, options);
        for_each_index(expected.out.shape(), [&](auto b, auto h, auto i, auto d) {
          const TypeParam got = result.out.at(b, h, i, d);
          const bool spoiled = i >= key && (!in_values || d == 5);
          if (spoiled) {
            EXPECT_FALSE(std::isfinite(got)) << i << ' ' << d;
          } else {
            EXPECT_EQ(got, expected.out.at(b, h, i, d)) << i << ' ' << d;
          }
        });
      }
    }
  }
}

TYPED_TEST(Hidden, ASpoiledQueryRowStaysAlone) {
  const auto clean = random_inputs<TypeParam>({1, 1, 1, 100, 100, 16, 16}, 2);
  for (const Causal causal : {Causal::none, Causal::top_left}) {
    Options options;
    options.causal = causal;
    const auto expected = run_forward(clean, options);
    for (const double poison : {kNaN, kInf, -kInf}) {
      auto in = clean;
      in.q.at(0, 0, 37, 3) = TypeParam(poison);
      const auto result = run_forward(in, options);
      for_each_index(expected.out.shape(), [&](auto b, auto h, auto i, auto d) {
        if (i == 37) {
          EXPECT_FALSE(std::isfinite(result.out.at(b, h, i, d)));
        } else {
          EXPECT_EQ(result.out.at(b, h, i, d), expected.out.at(b, h, i, d));
        }
      });
    }
  }
}

TYPED_TEST(Hidden, RowsWithoutKeysAreZeroWhateverStandsAround) {
  auto in = random_inputs<TypeParam>({1, 1, 1, 20, 6, 16, 16}, 3);
  for_each_index(in.k.shape(), [&](auto b, auto h, auto s, auto d) {
    in.k.at(b, h, s, d) = TypeParam(kNaN);
    in.v.at(b, h, s, d) = TypeParam(kInf);
  });
  Options options;
  options.causal = Causal::bottom_right;  // rows 0..13 see nothing
  const auto result = run_forward(in, options);
  for (std::int64_t i = 0; i < 14; ++i) {
    EXPECT_EQ(result.lse.at(0, 0, i, 0), -std::numeric_limits<TypeParam>::infinity());
    for (std::int64_t d = 0; d < 16; ++d) {
      EXPECT_EQ(result.out.at(0, 0, i, d), TypeParam(0));
      EXPECT_FALSE(std::signbit(result.out.at(0, 0, i, d)));
    }
  }
  for (std::int64_t i = 14; i < 20; ++i) EXPECT_FALSE(std::isfinite(result.out.at(0, 0, i, 0)));
}

// Arrays end at unreadable pages on either side, and keys past `seen` are unreadable themselves.
TYPED_TEST(Hidden, UnreadablePagesAreNotTouched) {
  using Guarded = GuardedArray<TypeParam>;
  for (const auto side : {Guarded::Against::front, Guarded::Against::back}) {
    for (const std::int64_t seen : {1, 3, 8, 13, 50, 193}) {
      for (const std::int64_t d : {1, 5, 16}) {
        const std::int64_t sq = 7;
        const auto in = random_inputs<TypeParam>({1, 1, 1, sq, seen, d, d}, 4);
        const std::int64_t absent = 3 * seen * d;
        Guarded q(sq * d, side), out(sq * d, side);
        Guarded k(seen * d, side, absent), v(seen * d, side, absent);
        std::memcpy(q.data(), in.q.data(), std::size_t(sq * d) * sizeof(TypeParam));
        std::memcpy(k.data(), in.k.data(), std::size_t(seen * d) * sizeof(TypeParam));
        std::memcpy(v.data(), in.v.data(), std::size_t(seen * d) * sizeof(TypeParam));
        // Four times as many keys as exist; the last row's position is the last real key.
        const Shape keys{1, 1, 4 * seen, d};
        const std::vector<std::int64_t> offset = {seen - sq};
        Options options = on_test_path<TypeParam>({});
        options.causal = Causal::top_left;
        options.q_offset = offset;
        const TypeParam* const_k = k.data();
        const TypeParam* const_v = v.data();
        const TypeParam* const_q = q.data();
        const Status status = forward(
            one_thread(), view(const_q, {1, 1, sq, d}), view(const_k, keys), view(const_v, keys),
            {.out = view(out.data(), {1, 1, sq, d}), .lse = {}, .weights = {}}, options);
        ASSERT_TRUE(status.ok()) << status.message();
        const auto expected = run_forward(in, options);
        EXPECT_EQ(
            std::memcmp(out.data(), expected.out.data(), std::size_t(sq * d) * sizeof(TypeParam)),
            0);
      }
    }
  }
}

}  // namespace
}  // namespace regard::test
