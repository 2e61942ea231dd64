// Keys that no row sees are not read, however they are hidden, and neither is anything beyond
// either end of any array: unreadable pages stand there.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <deque>
#include <vector>

#include "kernels/seen.h"
#include "support/guarded.h"

namespace regard::test {
namespace {

template <class T>
class HiddenPages : public testing::Test {};
using Types = testing::Types<float, double, F16, BF16>;
TYPED_TEST_SUITE(HiddenPages, Types);

/// Keys of one head, each at the end of a page of its own that can be made unreadable.
template <class T>
class PagedKeys {
 public:
  explicit PagedKeys(const TestTensor<T>& keys)
      : page_bytes_(std::size_t(sysconf(_SC_PAGESIZE))),
        shape_(keys.shape()),
        memory_((std::size_t(shape_[2]) + 2) * page_bytes_ / sizeof(T),
                GuardedArray<T>::Against::front) {
    for_each_index(shape_, [&](auto b, auto h, auto s, auto d) {
      first()[s * step() + d] = keys.at(b, h, s, d);
    });
  }
  ~PagedKeys() { protect(0, shape_[2], PROT_READ | PROT_WRITE); }

  void hide(std::int64_t key) { protect(key, 1, PROT_NONE); }
  ConstTensor view() const {
    return {const_cast<PagedKeys*>(this)->first(), DTypeOf<T>::value, shape_, {0, 0, step(), 1}};
  }

 private:
  std::int64_t step() const { return std::int64_t(page_bytes_ / sizeof(T)); }
  T* first() { return memory_.data() + step() - shape_[3]; }
  void protect(std::int64_t key, std::int64_t count, int protection) {
    ASSERT_EQ(mprotect(memory_.data() + key * step(), std::size_t(count) * page_bytes_, protection),
              0);
  }

  std::size_t page_bytes_;
  Shape shape_;
  GuardedArray<T> memory_;
};

/// All outputs with K and V in pages of which those that no row sees cannot be read.
template <class T>
void expect_unseen_keys_unread(const ProblemShape& shape, const FullOptions<T>& full,
                               unsigned kinds) {
  const auto in = random_inputs<T>(shape, 1);
  const LaidOut<T> laid(full, kinds);
  const auto expected = run_full(in, laid.options);
  PagedKeys<T> k(in.k), v(in.v);
  const auto seen = seen_pairs(in, laid.options);
  std::int64_t hidden = 0;
  for (std::int64_t j = 0; j < shape.skv; ++j) {
    if (any_sees(seen, 0, j)) continue;
    k.hide(j);
    v.hide(j);
    ++hidden;
  }
  ASSERT_GT(hidden, 0);
  FullResult<T> result(in, shape.sq, 3, Layout::bhsd);
  for (const Outputs& outputs : {result.outputs(), result.only_out()}) {
    const Status status = forward(one_thread(), in.q.view(), k.view(), v.view(), outputs,
                                  on_test_path<T>(laid.options));
    ASSERT_TRUE(status.ok()) << status.message();
  }
  EXPECT_TRUE(same_bits(result, expected));
}

TYPED_TEST(HiddenPages, KeysThatNoRowSees) {
  const ProblemShape shape{1, 1, 2, 21, 601, 12, 7};
  FullOptions<TypeParam> full(shape, 2);
  full.window = {30, 11};
  full.q_offset = {200};
  const auto nothing = converted<TypeParam>(-std::numeric_limits<double>::infinity());
  for_each_index(shape.weights(), [&](auto b, auto h, auto i, auto j) {
    // Scattered keys, a whole block and the end.
    const bool hidden = j % 5 == 1 || (j >= 192 && j < 384) || j > 590;
    full.mask.at(b, h, i, j) = hidden ? 0 : full.mask.at(b, h, i, j);
    if (j % 7 == 2 || (j >= 180 && j < 400) || j < 5) full.bias.at(b, h, i, j) = nothing;
  });
  for (const unsigned kinds : {kMask, kBias, kWindow, kRagged, kMask | kBias, kMask | kWindow,
                               kMask | kRagged, kBias | kAlibi, kEvery}) {
    SCOPED_TRACE(testing::Message() << "kinds " << kinds);
    expect_unseen_keys_unread(shape, full, kinds);
  }
  full.q_offset = {-21};  // no row sees any key
  expect_unseen_keys_unread(shape, full, kWindow);
  expect_unseen_keys_unread(shape, full, kEvery);
}

/// A dense copy between unreadable pages.
template <class T>
class GuardedTensor {
 public:
  using Side = typename GuardedArray<T>::Against;
  GuardedTensor(const Shape& shape, Side side, Layout layout = Layout::bhsd)
      : shape_(shape),
        strides_(layout_strides(shape, layout)),
        memory_(element_count(shape), side) {}
  GuardedTensor(const TestTensor<T>& from, Side side, Layout layout = Layout::bhsd)
      : GuardedTensor(from.shape(), side, layout) {
    for_each_index(shape_, [&](auto b, auto h, auto s, auto d) {
      memory_.data()[at(b, h, s, d)] = from.at(b, h, s, d);
    });
  }
  Tensor tensor() { return {memory_.data(), DTypeOf<T>::value, shape_, strides_}; }

  void expect(const TestTensor<T>& expected) const {
    for_each_index(shape_, [&](auto b, auto h, auto s, auto d) {
      // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): bits are meant, not values.
      EXPECT_EQ(std::memcmp(memory_.data() + at(b, h, s, d), &expected.at(b, h, s, d), sizeof(T)),
                0);
    });
  }

 private:
  std::int64_t at(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) const {
    return b * strides_[0] + h * strides_[1] + s * strides_[2] + d * strides_[3];
  }
  Shape shape_;
  Strides strides_;
  GuardedArray<T> memory_;
};

template <class U>
auto guard_side(bool back) {
  return back ? GuardedArray<U>::Against::back : GuardedArray<U>::Against::front;
}

/// Outputs of the shapes of a result, each between unreadable pages.
template <class T>
struct GuardedResult {
  using C = ComputeType<T>;
  GuardedTensor<T> out;
  GuardedTensor<C> lse, entropy, top_weights, weights, key_mass;
  GuardedTensor<std::int64_t> top_keys;

  GuardedResult(const FullResult<T>& like, bool back, Layout layout)
      : out(like.out.shape(), guard_side<T>(back), layout),
        lse(like.lse.shape(), guard_side<C>(back)),
        entropy(like.lse.shape(), guard_side<C>(back)),
        top_weights(like.top_weights.shape(), guard_side<C>(back), layout),
        weights(like.weights.shape(), guard_side<C>(back), layout),
        key_mass(like.key_mass.shape(), guard_side<C>(back)),
        top_keys(like.top_keys.shape(), guard_side<std::int64_t>(back), layout) {}

  Outputs outputs() {
    return {.out = out.tensor(),
            .lse = lse.tensor(),
            .weights = weights.tensor(),
            .entropy = entropy.tensor(),
            .top_weights = top_weights.tensor(),
            .top_keys = top_keys.tensor(),
            .key_mass = key_mass.tensor()};
  }
  void expect(const FullResult<T>& expected) const {
    out.expect(expected.out);
    lse.expect(expected.lse);
    entropy.expect(expected.entropy);
    top_weights.expect(expected.top_weights);
    top_keys.expect(expected.top_keys);
    weights.expect(expected.weights);
    key_mass.expect(expected.key_mass);
  }
};

/// Everything that a call reads and writes, each array between unreadable pages.
template <class T>
void run_guarded(const Inputs<T>& in, const FullOptions<T>& full, bool back, Layout layout) {
  using C = ComputeType<T>;
  const LaidOut<T> laid(full, kEvery);
  const auto expected = run_full(in, laid.options);
  const auto side = guard_side<T>(back);
  GuardedTensor<T> q(in.q, side, layout), k(in.k, side, layout), v(in.v, side, layout),
      bias(full.bias, side, layout);
  GuardedTensor<C> slopes(full.slopes, guard_side<C>(back));
  GuardedTensor<double> sinks(full.sinks, guard_side<double>(back));
  const Shape mask_shape = full.mask.shape();
  GuardedArray<unsigned char> mask(element_count(mask_shape), guard_side<unsigned char>(back));
  std::int64_t n = 0;
  for_each_index(mask_shape, [&](auto b, auto h, auto i, auto j) {
    mask.data()[n++] = full.mask.at(b, h, i, j) != 0;
  });
  Options options = on_test_path<T>(laid.options);
  options.mask = {mask.data(), DType::boolean, mask_shape, dense_strides(mask_shape)};
  options.bias = bias.tensor();
  options.alibi_slopes = slopes.tensor();
  options.sinks = sinks.tensor();
  GuardedResult<T> result(expected, back, layout);
  const Status status =
      forward(one_thread(), q.tensor(), k.tensor(), v.tensor(), result.outputs(), options);
  ASSERT_TRUE(status.ok()) << status.message();
  result.expect(expected);
}

TYPED_TEST(HiddenPages, BothEndsOfEveryArray) {
  for (const std::int64_t keys : {1, 3, 8, 13, 33, 193}) {
    for (const std::int64_t d : {1, 5, 16, 64, 67}) {
      const ProblemShape shape{2, 1, 2, 7, keys, d, d};
      const auto in = random_inputs<TypeParam>(shape, 3);
      const FullOptions<TypeParam> full(shape, 4);
      for (const Layout layout : {Layout::bhsd, Layout::bshd, Layout::transposed}) {
        SCOPED_TRACE(testing::Message() << shape << " layout " << int(layout));
        run_guarded(in, full, false, layout);
        run_guarded(in, full, true, layout);
      }
    }
  }
}

// A scratch of just the bytes that explain names is enough, and nothing beyond it is touched.
TYPED_TEST(HiddenPages, BothEndsOfTheScratch) {
  using Side = GuardedArray<std::byte>::Against;
  const ProblemShape shape{2, 1, 3, 41, 420, 13, 9};
  const auto in = random_inputs<TypeParam>(shape, 5);
  const FullOptions<TypeParam> full(shape, 6);
  for (const int threads : {1, 3}) {
    const Context context(threads);
    for (const unsigned kinds : {0U, kBias, kEvery}) {
      const LaidOut<TypeParam> laid(full, kinds);
      const auto expected = run_full(in, laid.options);
      auto result = expected;
      Explanation explanation;
      ASSERT_TRUE(explain(context, in.q.view(), in.k.view(), in.v.view(), result.outputs(),
                          on_test_path<TypeParam>(laid.options), explanation)
                      .ok());
      for (const Side side : {Side::front, Side::back}) {
        GuardedArray<std::byte> scratch(explanation.scratch_bytes, side);
        Options options = laid.options;
        options.scratch = {scratch.data(), std::size_t(scratch.count())};
        EXPECT_TRUE(same_bits(run_full(in, options, context), expected)) << "kinds " << kinds;
      }
    }
  }
}

}  // namespace
}  // namespace regard::test
