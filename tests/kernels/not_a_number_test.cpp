// NaN in results: where it stands is a row's own affair, and it has one sign and one payload.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/full_call.h"

namespace regard::test {
namespace {

template <class T>
class NotANumber : public testing::Test {};
using Types = testing::Types<float, double, F16, BF16>;
TYPED_TEST_SUITE(NotANumber, Types);

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// NaN with a sign and a payload.
template <class T>
T nan_of(bool negative, unsigned payload) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
  const auto plain = converted<T>(std::numeric_limits<double>::quiet_NaN());
  const auto sign = Bits(Bits(negative) << (8 * sizeof(T) - 1));
  return std::bit_cast<T>(Bits(std::bit_cast<Bits>(plain) | sign | payload));
}

/// Rows that are spoiled by their query, rows of large scores, and values of which some are not
/// finite.
template <class T>
Inputs<T> spoiled_inputs(const ProblemShape& shape) {
  auto in = random_inputs<T>(shape, 1);
  for (std::int64_t i = 0; i < shape.sq; ++i) {
    T& x = in.q.at(0, 0, i, i % shape.d);
    if (i % 7 == 1) x = nan_of<T>(i % 2 == 0, unsigned(i % 3));
    if (i % 7 == 3) x = converted<T>(i % 2 == 0 ? kInfinity : -kInfinity);
    if (i % 7 == 5) x = converted<T>(3000.0);
  }
  for (std::int64_t j = 20; j < shape.skv; j += 90) {
    in.v.at(0, 0, j, 0) = nan_of<T>(true, 1);
    in.v.at(0, 0, j, 1) = nan_of<T>(j % 4 == 0, 2);
    in.v.at(0, 0, j, 2) = converted<T>(j % 4 == 0 ? kInfinity : -kInfinity);
    in.v.at(0, 0, j, 3) = converted<T>(kInfinity);
  }
  return in;
}

template <class T>
std::int64_t other_nans(const TestTensor<T>& tensor) {
  const auto one = converted<T>(std::numeric_limits<double>::quiet_NaN());
  std::int64_t count = 0;
  for_each_index(tensor.shape(), [&](auto b, auto h, auto s, auto d) {
    const T x = tensor.at(b, h, s, d);
    if (converted<double>(x) == converted<double>(x)) return;
    // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): it is about the bits
    count += std::memcmp(&x, &one, sizeof(T)) != 0;
  });
  return count;
}

TYPED_TEST(NotANumber, HasOneSignAndPayload) {
  for (const std::int64_t sq : {1, 4, 20, 61}) {
    const ProblemShape shape{1, 1, 1, sq, 400, 6, 9};
    const auto in = spoiled_inputs<TypeParam>(shape);
    const FullOptions<TypeParam> full(shape, 2);
    for (const unsigned kinds : kKindSets) {
      SCOPED_TRACE(testing::Message() << "Sq=" << sq << " kinds " << kinds);
      const LaidOut<TypeParam> laid(full, kinds);
      const auto result = run_full(in, laid.options);
      EXPECT_EQ(other_nans(result.out), 0);
      EXPECT_EQ(other_nans(result.alone), 0);
      EXPECT_EQ(other_nans(result.lse), 0);
      EXPECT_EQ(other_nans(result.entropy), 0);
      EXPECT_EQ(other_nans(result.top_weights), 0);
      EXPECT_EQ(other_nans(result.key_mass), 0);
      EXPECT_EQ(other_nans(result.weights), 0);
    }
  }
}

TYPED_TEST(NotANumber, HasOneSignAndPayloadInScores) {
  const ProblemShape shape{1, 1, 1, 30, 200, 6, 4};
  const auto in = spoiled_inputs<TypeParam>(shape);
  const FullOptions<TypeParam> full(shape, 3);
  for (const Stage stage : {Stage::scaled, Stage::capped, Stage::biased}) {
    LaidOut<TypeParam> laid(full, kEvery);
    laid.options.weights_stage = stage;
    EXPECT_EQ(other_nans(run_full(in, laid.options).weights), 0) << int(stage);
  }
}

// Rows in any company: alone, in part, beside rows that are raised, by any number of threads.
TYPED_TEST(NotANumber, StandsWhereTheRowItselfPutsIt) {
  const ProblemShape shape{1, 1, 1, 61, 600, 6, 9};
  const auto in = spoiled_inputs<TypeParam>(shape);
  FullOptions<TypeParam> full(shape, 4);
  full.q_offset = {500};
  const Context two(2), five(5);
  for (const unsigned kinds : {0U, kWindow, kMask | kBias | kSinks}) {
    const LaidOut<TypeParam> laid(full, kinds);
    const auto all = run_full(in, laid.options);
    EXPECT_TRUE(same_bits(run_full(in, laid.options, two), all)) << "kinds " << kinds;
    EXPECT_TRUE(same_bits(run_full(in, laid.options, five), all)) << "kinds " << kinds;
    for (std::int64_t i = 0; i < shape.sq; i += 1 + i % 3) {
      FullOptions<TypeParam> own = full;
      own.mask = sliced(full.mask, 2, i, 1);
      own.bias = sliced(full.bias, 2, i, 1);
      own.q_offset = {500 + i};
      const LaidOut<TypeParam> one(own, kinds);
      const Inputs<TypeParam> alone{sliced(in.q, 2, i, 1), in.k, in.v};
      EXPECT_TRUE(same_row(all, {0, 0, i}, run_full(alone, one.options), {0, 0, 0}))
          << "kinds " << kinds;
    }
  }
}

}  // namespace
}  // namespace regard::test
