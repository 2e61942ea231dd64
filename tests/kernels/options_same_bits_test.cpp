// With options, half types and every output: a row's bits still depend on its own query, keys and
// options alone; and options that change nothing change no bit.
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/full_call.h"

namespace regard::test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
class OptionsSameBits : public testing::Test {};
using Types = testing::Types<float, double, F16, BF16>;
TYPED_TEST_SUITE(OptionsSameBits, Types);

TYPED_TEST(OptionsSameBits, AnyNumberOfThreads) {
  const ProblemShape shape{2, 2, 2, 70, 401, 20, 12};
  const auto in = random_inputs<TypeParam>(shape, 1);
  const FullOptions<TypeParam> full(shape, 1);
  const Context two(2), five(5);
  for (const unsigned kinds : {0U, kMask | kWindow | kRagged, kEvery}) {
    const LaidOut<TypeParam> laid(full, kinds);
    const auto alone = run_full(in, laid.options);
    EXPECT_TRUE(same_bits(run_full(in, laid.options, two), alone)) << "kinds " << kinds;
    EXPECT_TRUE(same_bits(run_full(in, laid.options, five), alone)) << "kinds " << kinds;
  }
}

TYPED_TEST(OptionsSameBits, AnyLayout) {
  const ProblemShape shape{2, 1, 3, 19, 205, 9, 13};
  const auto in = random_inputs<TypeParam>(shape, 2);
  const FullOptions<TypeParam> full(shape, 2);
  for (const unsigned kinds : {kMask, kBias, kEvery}) {
    const LaidOut<TypeParam> dense(full, kinds);
    const auto expected = run_full(in, dense.options);
    for (const Layout layout : kInputLayouts) {
      const LaidOut<TypeParam> laid(full, kinds, layout);
      const auto output = layout == Layout::reversed ? Layout::bhsd : layout;
      const auto result =
          run_full(in.template copy<TypeParam>(layout), laid.options, one_thread(), output);
      EXPECT_TRUE(same_bits(result, expected)) << "kinds " << kinds << " layout " << int(layout);
    }
  }
}

// Mask and bias broadcast along any axes give the bits of the full arrays that they stand for.
TYPED_TEST(OptionsSameBits, BroadcastOrMaterialised) {
  const ProblemShape shape{2, 2, 2, 11, 200, 5, 5};
  const auto in = random_inputs<TypeParam>(shape, 3);
  for (unsigned axes = 0; axes < 16; ++axes) {
    FullOptions<TypeParam> small(shape, 3);
    for (std::size_t axis = 0; axis < 4; ++axis) {
      if ((axes >> axis & 1) == 0) continue;
      small.mask = sliced(small.mask, axis, 1, 1);
      small.bias = sliced(small.bias, axis, 1, 1);
    }
    auto large = small;
    large.mask = TestTensor<float>(shape.weights());
    large.bias = TestTensor<TypeParam>(shape.weights());
    for_each_index(shape.weights(), [&](auto b, auto h, auto i, auto j) {
      Shape at{b, h, i, j};
      for (std::size_t axis = 0; axis < 4; ++axis)
        if (axes >> axis & 1) at[axis] = 0;
      large.mask.at(b, h, i, j) = small.mask.at(at[0], at[1], at[2], at[3]);
      large.bias.at(b, h, i, j) = small.bias.at(at[0], at[1], at[2], at[3]);
    });
    for (const unsigned kinds : {kMask, kBias, kMask | kBias | kWindow}) {
      const LaidOut<TypeParam> repeated(small, kinds), written(large, kinds);
      EXPECT_TRUE(same_bits(run_full(in, repeated.options), run_full(in, written.options)))
          << "axes " << axes << " kinds " << kinds;
    }
  }
}

TYPED_TEST(OptionsSameBits, AnyBatch) {
  const ProblemShape shape{7, 2, 2, 23, 210, 8, 8};
  const auto in = random_inputs<TypeParam>(shape, 4);
  FullOptions<TypeParam> full(shape, 4);
  for (const bool offsets : {false, true}) {
    if (offsets) full.q_offset = {200, -9, 0, 55, 300, 17, 190};
    for (const unsigned kinds : {kWindow, kAlibi | kWindow, kEvery}) {
      const LaidOut<TypeParam> laid(full, kinds);
      const auto batch = run_full(in, laid.options);
      for (std::int64_t b = 0; b < shape.batch; ++b) {
        const Inputs<TypeParam> alone{sliced(in.q, 0, b, 1), sliced(in.k, 0, b, 1),
                                      sliced(in.v, 0, b, 1)};
        const auto own = entry(full, b);
        const LaidOut<TypeParam> one(own, kinds);
        const auto single = run_full(alone, one.options);
        for_each_index({1, shape.heads(), shape.sq, 1}, [&](auto, auto h, auto i, auto) {
          EXPECT_TRUE(same_row(batch, {b, h, i}, single, {0, h, i})) << b << " kinds " << kinds;
        });
        for (std::int64_t h = 0; h < shape.heads(); ++h)
          EXPECT_TRUE(same_row(batch.key_mass, {b, h, 0}, single.key_mass, {0, h, 0}));
      }
    }
  }
}

// Some rows alone, kept at their positions by q_offset: the bits they have among all rows.
TYPED_TEST(OptionsSameBits, SomeRowsAlone) {
  const ProblemShape shape{1, 1, 2, 61, 400, 8, 5};
  const auto in = random_inputs<TypeParam>(shape, 5);
  FullOptions<TypeParam> full(shape, 5);
  full.q_offset = {320};
  for (const unsigned kinds : kKindSets) {
    const LaidOut<TypeParam> laid(full, kinds);
    const auto all = run_full(in, laid.options);
    for (const auto& [begin, count] : {std::pair<std::int64_t, std::int64_t>{0, 1},
                                       {2, 1},
                                       {7, 5},
                                       {24, 24},
                                       {40, 21},
                                       {60, 1}}) {
      FullOptions<TypeParam> part = full;
      part.mask = sliced(full.mask, 2, begin, count);
      part.bias = sliced(full.bias, 2, begin, count);
      part.q_offset = {320 + begin};
      part.q_len = {std::clamp<std::int64_t>(full.q_len[0] - begin, 0, count)};
      const LaidOut<TypeParam> own(part, kinds);
      const auto some =
          run_full(Inputs<TypeParam>{sliced(in.q, 2, begin, count), in.k, in.v}, own.options);
      for_each_index({1, 2, count, 1}, [&](auto, auto h, auto i, auto) {
        EXPECT_TRUE(same_row(all, {0, h, begin + i}, some, {0, h, i}))
            << begin << '+' << count << " kinds " << kinds;
      });
    }
  }
}

// Rows that hold NaN or infinity, and rows whose reference is raised in every block.
TYPED_TEST(OptionsSameBits, AnyNeighbours) {
  const ProblemShape shape{1, 1, 1, 48, 600, 8, 8};
  auto calm = random_inputs<TypeParam>(shape, 6);
  for (std::int64_t j = 0; j < shape.skv; ++j)
    calm.k.at(0, 0, j, 7) = converted<TypeParam>(double(j) / 100);
  auto in = calm;
  for (std::int64_t c = 0; c < shape.d; ++c) {
    in.q.at(0, 0, 10, c) = converted<TypeParam>(kNaN);
    in.q.at(0, 0, 12, c) = converted<TypeParam>(kInfinity);
  }
  in.q.at(0, 0, 20, 7) = converted<TypeParam>(300.0);
  in.q.at(0, 0, 33, 7) = converted<TypeParam>(-300.0);
  const FullOptions<TypeParam> full(shape, 6);
  for (const unsigned kinds : kKindSets) {
    const LaidOut<TypeParam> laid(full, kinds);
    const auto expected = run_full(calm, laid.options);
    const auto result = run_full(in, laid.options);
    for (std::int64_t i = 0; i < shape.sq; ++i) {
      if (i == 10 || i == 12 || i == 20 || i == 33) continue;
      EXPECT_TRUE(same_row(result, {0, 0, i}, expected, {0, 0, i})) << "kinds " << kinds;
    }
  }
}

TYPED_TEST(OptionsSameBits, OptionsThatChangeNothing) {
  const ProblemShape shape{2, 1, 2, 30, 390, 10, 7};
  const auto in = random_inputs<TypeParam>(shape, 7);
  FullOptions<TypeParam> full(shape, 7);
  const auto nothing = run_full(in, {});
  for_each_index(shape.weights(),
                 [&](auto b, auto h, auto i, auto j) { full.mask.at(b, h, i, j) = 1; });
  for_each_index(full.sinks.shape(),
                 [&](auto b, auto h, auto s, auto d) { full.sinks.at(b, h, s, d) = -kInfinity; });
  full.q_len = {30, 30};
  full.kv_len = {390, 390};
  for (const unsigned kinds : {kMask, kSinks, kRagged, kMask | kSinks | kRagged}) {
    const LaidOut<TypeParam> laid(full, kinds);
    EXPECT_TRUE(same_bits(run_full(in, laid.options), nothing)) << "kinds " << kinds;
  }
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  const std::int64_t far[] = {1000};
  for (const Window window :
       {Window{29, 389}, Window{29, -1}, Window{-1, 389}, Window{huge, huge}}) {
    Options options;
    options.window = window;
    EXPECT_TRUE(same_bits(run_full(in, options), nothing)) << window.left << ' ' << window.right;
  }
  Options options;
  options.causal = Causal::top_left;
  options.q_offset = far;
  EXPECT_TRUE(same_bits(run_full(in, options), nothing));
}

// kv_len leaves what an array of that many keys gives, beside every other option.
TYPED_TEST(OptionsSameBits, KvLenIsAShorterArray) {
  const ProblemShape shape{1, 1, 2, 30, 390, 10, 7};
  const auto in = random_inputs<TypeParam>(shape, 8);
  FullOptions<TypeParam> full(shape, 8);
  full.q_len = {30};
  for (const std::int64_t keys : {0, 1, 7, 8, 191, 192, 193, 389}) {
    full.kv_len = {keys};
    for (const unsigned kinds : {0U, kMask | kWindow, kEvery}) {
      const LaidOut<TypeParam> cut(full, kinds | kRagged);
      FullOptions<TypeParam> part = full;
      part.mask = sliced(full.mask, 3, 0, keys);
      part.bias = sliced(full.bias, 3, 0, keys);
      const LaidOut<TypeParam> shorter(part, kinds & ~kRagged);
      const auto a = run_full(in, cut.options);
      const auto b =
          run_full(Inputs<TypeParam>{in.q, sliced(in.k, 2, 0, keys), sliced(in.v, 2, 0, keys)},
                   shorter.options);
      for_each_index({1, 2, 30, 1}, [&](auto, auto h, auto i, auto) {
        EXPECT_TRUE(same_row(a, {0, h, i}, b, {0, h, i})) << keys << " kinds " << kinds;
      });
      EXPECT_TRUE(same_row(a.key_mass, {0, 0, 0}, b.key_mass, {0, 0, 0}));
      for (std::int64_t j = keys; j < 390; ++j) EXPECT_EQ(a.key_mass.at(0, 1, 0, j), 0);
    }
  }
}

/// `out` of type Out is what the compute type gives, rounded once.
template <class Out, class T>
void expect_rounded(const Inputs<T>& in, const Options& options) {
  using C = ComputeType<T>;
  const auto wide = run_forward<T, C>(in, options);
  for (const Layout layout : kOutputLayouts) {
    const auto narrow = run_forward<T, Out>(in, options, one_thread(), layout);
    EXPECT_TRUE(narrow.out.same_bits(wide.out.template copy<Out>())) << int(layout);
    EXPECT_TRUE(narrow.lse.same_bits(wide.lse)) << int(layout);
  }
}

TYPED_TEST(OptionsSameBits, OutOfAnyType) {
  const ProblemShape shape{2, 1, 2, 19, 205, 9, 70};
  const auto in = random_inputs<TypeParam>(shape, 9);
  const FullOptions<TypeParam> full(shape, 10);
  for (const unsigned kinds : {0U, kEvery}) {
    const LaidOut<TypeParam> laid(full, kinds);
    expect_rounded<float>(in, laid.options);
    expect_rounded<double>(in, laid.options);
    if (sizeof(ComputeType<TypeParam>) == 8) continue;  // the test's own way is by f32
    expect_rounded<F16>(in, laid.options);
    expect_rounded<BF16>(in, laid.options);
  }
}

}  // namespace
}  // namespace regard::test
