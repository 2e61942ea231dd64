// Relations between calls with options, each held to what the bounds of both sides allow.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <limits>
#include <random>
#include <vector>

#include "kernels/seen.h"
#include "kernels/sides.h"
#include "regard/merge.h"

namespace regard::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr ProblemShape kShape{1, 1, 2, 22, 210, 10, 5};

template <class T>
class OptionsRelations : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(OptionsRelations, Types);

TYPED_TEST(OptionsRelations, KeysInAnotherOrder) {
  const auto in = random_inputs<TypeParam>(kShape, 1);
  const FullOptions<TypeParam> full(kShape, 2);
  auto order = in_order(kShape.skv);
  std::shuffle(order.begin(), order.end(), std::mt19937(3));
  FullOptions<TypeParam> moved = full;
  moved.mask = reordered(full.mask, 3, order);
  moved.bias = reordered(full.bias, 3, order);
  const Inputs<TypeParam> there{in.q, reordered(in.k, 2, order), reordered(in.v, 2, order)};
  Apart apart;
  apart.keys.resize(order.size());
  for (std::size_t n = 0; n < order.size(); ++n)
    apart.keys[std::size_t(order[n])] = std::int64_t(n);
  for (const unsigned kinds : {kMask, kBias, kMask | kBias | kSoftcap | kSinks}) {
    const LaidOut<TypeParam> here_options(full, kinds), there_options(moved, kinds);
    Side<TypeParam> a(in, here_options.options), b(there, there_options.options);
    expect_same_answers(a, b, apart);
  }
}

// The same amount on every score and sink moves the LSE by it, and nothing else.
TYPED_TEST(OptionsRelations, AConstantBiasMovesTheLse) {
  const auto in = random_inputs<TypeParam>(kShape, 4);
  FullOptions<TypeParam> full(kShape, 5);
  round_all(full.bias, 10);
  round_all(full.sinks, 10);
  for (const double shift : {3.0, -40.0, 500.0}) {
    auto moved = full;
    shift_all(moved.bias, shift);
    shift_all(moved.sinks, shift);
    for (const unsigned kinds : {kBias, kBias | kMask | kAlibi | kWindow | kSinks}) {
      const LaidOut<TypeParam> still(full, kinds), shifted(moved, kinds);
      Side<TypeParam> a(in, still.options), b(in, shifted.options);
      for_each_index(a.result.lse.shape(), [&](auto batch, auto h, auto i, auto) {
        const bool empty = std::isinf(a.result.lse.at(batch, h, i, 0));
        expect_same_row(a, b, {batch, h, i}, {.lse = empty ? 0 : shift});
      });
    }
  }
}

TYPED_TEST(OptionsRelations, AKeyTwiceIsABiasOfLn2) {
  const auto in = random_inputs<TypeParam>(kShape, 6);
  const FullOptions<TypeParam> full(kShape, 7);
  for (const std::int64_t key : {0, 5, 100, 209}) {
    auto order = in_order(kShape.skv);
    order.push_back(key);
    FullOptions<TypeParam> twice = full, heavier = full;
    twice.mask = reordered(full.mask, 3, order);
    twice.bias = reordered(full.bias, 3, order);
    for_each_index(kShape.lse(), [&](auto b, auto h, auto i, auto) {
      heavier.bias.at(b, h, i, key) += TypeParam(std::log(2.0));
    });
    const Inputs<TypeParam> there{in.q, reordered(in.k, 2, order), reordered(in.v, 2, order)};
    // Rounding ln 2 and the sum, of less than 8.
    const double apart = 8 * double(std::numeric_limits<TypeParam>::epsilon());
    for (const unsigned kinds : {kBias, kBias | kMask | kSoftcap | kSinks}) {
      const LaidOut<TypeParam> one(heavier, kinds), two(twice, kinds);
      Side<TypeParam> a(in, one.options), b(there, two.options);
      expect_same_answers(a, b, {.scores = apart, .sums_alone = true});
    }
  }
}

/// Keys [begin, begin + count) with the options that belong to them, without sinks.
template <class T>
struct KeyPart {
  Inputs<T> in;
  FullOptions<T> full;
  LaidOut<T> laid;
  Side<T> side;

  KeyPart(const Inputs<T>& whole, const FullOptions<T>& all, unsigned kinds, std::int64_t begin,
          std::int64_t count)
      : in{whole.q, sliced(whole.k, 2, begin, count), sliced(whole.v, 2, begin, count)},
        full(cut(all, begin, count)),
        laid(full, kinds & ~kSinks),
        side(in, laid.options) {}

  static FullOptions<T> cut(FullOptions<T> full, std::int64_t begin, std::int64_t count) {
    full.mask = sliced(full.mask, 3, begin, count);
    full.bias = sliced(full.bias, 3, begin, count);
    full.q_offset[0] -= begin;
    full.kv_len[0] = std::clamp<std::int64_t>(full.kv_len[0] - begin, 0, count);
    return full;
  }
};

/// What each part brings to column d of a row, by its own bound.
template <class T>
std::vector<PartElement> elements_of(std::deque<KeyPart<T>>& parts, const Row& r, std::int64_t d) {
  std::vector<PartElement> elements;
  for (auto& part : parts) {
    Side<T>& side = part.side;
    side.look(r);
    elements.push_back({.out = double(side.result.out.at(r.b, r.h, r.i, d)),
                        .out_error = side.out_error(d),
                        .lse = double(side.result.lse.at(r.b, r.h, r.i, 0)),
                        .lse_error = side.lse_error()});
  }
  return elements;
}

TYPED_TEST(OptionsRelations, PartsOfTheKeysMergeToTheWhole) {
  constexpr DType dtype = DTypeOf<TypeParam>::value;
  const auto in = random_inputs<TypeParam>(kShape, 8);
  FullOptions<TypeParam> full(kShape, 9);
  full.q_offset = {150};
  full.q_len = {kShape.sq};
  for (const unsigned kinds : kKindSets) {
    const LaidOut<TypeParam> laid(full, kinds);
    Side<TypeParam> whole(in, laid.options);
    std::deque<KeyPart<TypeParam>> parts;
    for (const auto& [begin, count] :
         {std::pair<std::int64_t, std::int64_t>{0, 3}, {3, 150}, {153, 0}, {153, 57}})
      parts.emplace_back(in, full, kinds, begin, count);
    std::vector<Part> views;
    for (const auto& p : parts)
      views.push_back({p.side.result.out.view(), p.side.result.lse.view()});
    Result<TypeParam> merged{TestTensor<TypeParam>(kShape.out()),
                             TestTensor<TypeParam>(kShape.lse())};
    const Status status =
        merge(views, laid.options.sinks, merged.out.tensor(), merged.lse.tensor());
    ASSERT_TRUE(status.ok()) << status.message();
    for_each_index(kShape.out(), [&](auto b, auto h, auto i, auto d) {
      whole.look({b, h, i});
      const auto elements = elements_of(parts, {b, h, i}, d);
      const double sink = kinds & kSinks ? full.sinks.at(0, h, 0, 0) : -kInfinity;
      const MergeError error = merge_error(elements, sink, dtype, dtype);
      ASSERT_NEAR(double(merged.out.at(b, h, i, d)), double(whole.result.out.at(b, h, i, d)),
                  error.out + whole.out_error(d))
          << "kinds " << kinds << " row " << i;
      const double lse = double(merged.lse.at(b, h, i, 0));
      const double expected = double(whole.result.lse.at(b, h, i, 0));
      if (lse == expected) return;
      ASSERT_NEAR(lse, expected, error.lse + whole.lse_error()) << "kinds " << kinds;
    });
  }
}

TYPED_TEST(OptionsRelations, OutIsLinearInV) {
  auto first = random_inputs<TypeParam>(kShape, 10);
  round_all(first.v, 8);
  auto second = first, sum = first;
  second.v = normal_tensor<TypeParam>(kShape.v(), 11);
  round_all(second.v, 8);
  for_each_index(kShape.v(), [&](auto b, auto h, auto s, auto d) {
    sum.v.at(b, h, s, d) = 3 * first.v.at(b, h, s, d) - 2 * second.v.at(b, h, s, d);
  });
  const FullOptions<TypeParam> full(kShape, 12);
  for (const unsigned kinds : kKindSets) {
    const LaidOut<TypeParam> laid(full, kinds);
    Side<TypeParam> a(first, laid.options), b(second, laid.options), c(sum, laid.options);
    for_each_index(kShape.out(), [&](auto x, auto h, auto i, auto d) {
      for (auto* side : {&a, &b, &c}) side->look({x, h, i});
      ASSERT_NEAR(double(c.result.out.at(x, h, i, d)),
                  3 * double(a.result.out.at(x, h, i, d)) - 2 * double(b.result.out.at(x, h, i, d)),
                  c.out_error(d) + 3 * a.out_error(d) + 2 * b.out_error(d));
    });
  }
}

TYPED_TEST(OptionsRelations, AlibiIsADenseBias) {
  const auto in = random_inputs<TypeParam>(kShape, 13);
  FullOptions<TypeParam> full(kShape, 14);
  round_all(full.slopes, 6);  // slope times distance is exact
  for (const std::int64_t offset : {-100, 0, 97, 400}) {
    full.q_offset = {offset};
    for_each_index(kShape.weights(), [&](auto b, auto h, auto i, auto j) {
      full.bias.at(b, h, i, j) = -full.slopes.at(b, h, 0, 0) * TypeParam(std::abs(i + offset - j));
    });
    for (const unsigned kinds : {0U, kMask | kSoftcap | kSinks}) {
      const LaidOut<TypeParam> sloped(full, kinds | kAlibi), dense(full, kinds | kBias);
      Side<TypeParam> a(in, sloped.options), b(in, dense.options);
      expect_same_answers(a, b);
    }
  }
}

// Interval, mask and bias of -infinity hide alike: to the bit, where nothing else differs.
TYPED_TEST(OptionsRelations, EveryWayOfHidingIsTheSame) {
  const auto in = random_inputs<TypeParam>(kShape, 15);
  FullOptions<TypeParam> full(kShape, 16);
  full.q_offset = {160};
  full.q_len = {kShape.sq};
  for (const unsigned kinds : {kWindow, kRagged, kWindow | kRagged}) {
    const LaidOut<TypeParam> intervals(full, kinds), biased_intervals(full, kinds | kBias);
    auto by_mask = full, by_bias = full;
    by_mask.mask = seen_pairs(in, intervals.options);
    for_each_index(kShape.weights(), [&](auto b, auto h, auto i, auto j) {
      if (by_mask.mask.at(b, h, i, j) == 0) by_bias.bias.at(b, h, i, j) = TypeParam(-kInfinity);
    });
    const LaidOut<TypeParam> masked(by_mask, kMask), biased(by_bias, kBias),
        biased_mask(by_mask, kMask | kBias);
    EXPECT_TRUE(same_bits(run_full(in, intervals.options), run_full(in, masked.options)));
    const auto expected = run_full(in, biased_intervals.options);
    EXPECT_TRUE(same_bits(run_full(in, biased.options), expected));
    EXPECT_TRUE(same_bits(run_full(in, biased_mask.options), expected));
  }
}

TYPED_TEST(OptionsRelations, AFarCapIsNone) {
  const auto in = random_inputs<TypeParam>(kShape, 17);
  const FullOptions<TypeParam> full(kShape, 18);
  const double cap = sizeof(TypeParam) == 4 ? 1e6 : 1e9;
  for (const unsigned kinds : {0U, kBias | kMask, kAlibi | kSinks | kWindow}) {
    const LaidOut<TypeParam> open(full, kinds);
    Options capped = open.options;
    capped.softcap = cap;
    // c tanh(s / c) = s - s^3 / 3 c^2 + ...; no score before the bias reaches 20.
    Side<TypeParam> a(in, open.options), b(in, capped);
    expect_same_answers(a, b, {.scores = 8000 / (3 * cap * cap)});
  }
}

TYPED_TEST(OptionsRelations, ASinkIsAKeyOfValueZero) {
  const auto in = random_inputs<TypeParam>(kShape, 19);
  FullOptions<TypeParam> full(kShape, 20);
  round_all(full.sinks, 10);
  auto longer = full;
  auto order = in_order(kShape.skv);
  order.push_back(0);
  Inputs<TypeParam> there{in.q, reordered(in.k, 2, order), reordered(in.v, 2, order)};
  for (std::int64_t d = 0; d < kShape.d; ++d) there.k.at(0, 0, kShape.skv, d) = 0;
  for (std::int64_t d = 0; d < kShape.dv; ++d) there.v.at(0, 0, kShape.skv, d) = 0;
  longer.mask = reordered(full.mask, 3, order);
  longer.bias = reordered(full.bias, 3, order);
  for_each_index(kShape.lse(), [&](auto b, auto h, auto i, auto) {
    longer.mask.at(b, h, i, kShape.skv) = 1;
    longer.bias.at(b, h, i, kShape.skv) = TypeParam(full.sinks.at(0, h, 0, 0));
  });
  for (const unsigned kinds : {kBias, kBias | kMask, kBias | kMask | kSoftcap}) {
    const LaidOut<TypeParam> sink(full, kinds | kSinks), key(longer, kinds);
    Side<TypeParam> a(in, sink.options), b(there, key.options);
    expect_same_answers(a, b, {.sums_alone = true});
  }
}

}  // namespace
}  // namespace regard::test
