// Odd calls that are sound: nothing to do, inputs at any stride, inputs that overlap, grouped
// heads.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "regard/attention.h"
#include "support/inputs.h"

namespace regard::test {
namespace {

template <class T>
struct Answer {
  TestTensor<T> out, lse;
  Status status;

  bool same_bits(const Answer& other) const {
    return out.same_bits(other.out) && lse.same_bits(other.lse);
  }
};

template <class T>
Answer<T> answer(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                 const Options& options = {}) {
  const auto [batch, heads, rows, d] = q.shape;
  Answer<T> result{
      TestTensor<T>({batch, heads, rows, v.shape[3]}), TestTensor<T>({batch, heads, rows, 1}), {}};
  result.status =
      forward(Context(1), q, k, v,
              {.out = result.out.tensor(), .lse = result.lse.tensor(), .weights = {}}, options);
  EXPECT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_EQ(result.out.unwritten() + result.lse.unwritten(), 0);
  EXPECT_TRUE(result.out.canaries_intact() && result.lse.canaries_intact());
  return result;
}

TEST(EmptyCalls, NeedNoMemory) {
  for (const ProblemShape& shape : {ProblemShape{0, 1, 1, 4, 4, 8, 8},
                                    {1, 0, 1, 4, 4, 8, 8},
                                    {1, 2, 1, 0, 4, 8, 8},
                                    {0, 0, 1, 0, 0, 1, 1}}) {
    const ConstTensor q{nullptr, DType::f64, shape.q(), {}};
    const ConstTensor k{nullptr, DType::f64, shape.k(), {}};
    const ConstTensor v{nullptr, DType::f64, shape.v(), {}};
    if (shape.batch * shape.kv_heads > 0) {
      EXPECT_EQ(forward(Context(1), q, k, v, {}).code(), StatusCode::invalid_argument) << shape;
      continue;
    }
    const Status status = forward(Context(1), q, k, v, {});
    EXPECT_TRUE(status.ok()) << shape << ": " << status.message();
  }
}

TEST(EmptyCalls, RowsWithoutKeysGiveZero) {
  const Shape q_shape{2, 4, 3, 5}, kv_shape{2, 2, 0, 5};
  const auto q = normal_tensor<float>(q_shape, 1);
  const ConstTensor nothing{nullptr, DType::f32, kv_shape, {}};
  const Answer<float> result = answer<float>(q.view(), nothing, nothing);
  for_each_index(q_shape, [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t d) {
    EXPECT_EQ(result.out.at(b, h, i, d), 0);
    EXPECT_EQ(result.lse.at(b, h, i, 0), -std::numeric_limits<float>::infinity());
  });
}

TEST(EmptyCalls, NoRowsMayBeChosenFromNoRows) {
  const auto in = random_inputs<float>({1, 1, 1, 0, 4, 2, 2}, 1);
  TestTensor<float> weights({1, 1, 0, 4});
  const Status status = forward(Context(1), in.q.view(), in.k.view(), in.v.view(),
                                {.out = {}, .lse = {}, .weights = weights.tensor()});
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Strided, EveryLayoutOfTheInputsGivesTheSameBits) {
  const auto in = random_inputs<double>({2, 2, 2, 19, 23, 5, 6}, 7);
  const auto dense = answer<double>(in.q.view(), in.k.view(), in.v.view());
  for (const Layout layout : kInputLayouts) {
    const auto other = in.copy(layout);
    EXPECT_TRUE(dense.same_bits(answer<double>(other.q.view(), other.k.view(), other.v.view())));
  }
}

TEST(Strided, ZeroStridesRepeatWhatTheyPointAt) {
  const auto in = random_inputs<float>({1, 1, 1, 1, 13, 4, 3}, 3);
  ConstTensor q = in.q.view(), k = in.k.view(), v = in.v.view();
  q.shape = {3, 2, 9, 4};  // one query row for all
  q.strides = {0, 0, 0, 1};
  k.shape = {3, 2, 13, 4};  // one head of keys for all
  v.shape = {3, 2, 13, 3};
  k.strides[0] = k.strides[1] = v.strides[0] = v.strides[1] = 0;
  Options options;  // the automatic path depends on the number of rows
  options.path = Path::direct;
  const auto wide = answer<float>(q, k, v, options);
  const auto alone = answer<float>(in.q.view(), in.k.view(), in.v.view(), options);
  for_each_index(wide.out.shape(),
                 [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t d) {
                   EXPECT_EQ(wide.out.at(b, h, i, d), alone.out.at(0, 0, 0, d));
                   EXPECT_EQ(wide.lse.at(b, h, i, 0), alone.lse.at(0, 0, 0, 0));
                 });
}

TEST(Strided, InputsMayOverlapOneAnotherAndThemselves) {
  const auto memory = normal_tensor<double>({1, 1, 1, 40}, 5);
  const Strides close{0, 3, 2, 1};  // rows of 6 that share 4 with the next
  const ConstTensor shared{memory.data(), DType::f64, {1, 2, 9, 6}, close};
  TestTensor<double> apart({1, 2, 9, 6});
  for_each_index(apart.shape(),
                 [&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
                   apart.at(b, h, s, d) = memory.at(0, 0, 0, 3 * h + 2 * s + d);
                 });
  EXPECT_TRUE(answer<double>(shared, shared, shared)
                  .same_bits(answer<double>(apart.view(), apart.view(), apart.view())));
}

TEST(Strided, OutMayLieBetweenTheRowsOfQ) {
  const ProblemShape shape{2, 3, 1, 4, 6, 5, 5};
  const auto in = random_inputs<float>(shape, 2);
  const auto expected = answer<float>(in.q.view(), in.k.view(), in.v.view());
  // (B, H, S, 2, D): q in the even places, out in the odd ones.
  std::vector<float> memory(std::size_t(2 * element_count(shape.q())), -1);
  const Strides strides{3 * 4 * 10, 4 * 10, 10, 1};
  const auto place = [&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
    return std::size_t(b * strides[0] + h * strides[1] + s * strides[2] + d);
  };
  for_each_index(shape.q(), [&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
    memory[place(b, h, s, d)] = in.q.at(b, h, s, d);
  });
  const ConstTensor q{memory.data(), DType::f32, shape.q(), strides};
  const Tensor out{memory.data() + 5, DType::f32, shape.out(), strides};
  const Status status =
      forward(Context(1), q, in.k.view(), in.v.view(), {.out = out, .lse = {}, .weights = {}});
  ASSERT_TRUE(status.ok()) << status.message();
  for_each_index(shape.q(), [&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
    EXPECT_EQ(memory[place(b, h, s, d)], in.q.at(b, h, s, d));
    EXPECT_EQ(memory[place(b, h, s, d) + 5], expected.out.at(b, h, s, d));
  });
}

TEST(Grouped, HeadsReadTheirKvHead) {
  // 6 query heads over 2 KV heads: heads 0 to 2 read KV head 0, heads 3 to 5 KV head 1.
  const auto in = random_inputs<double>({2, 2, 3, 17, 21, 4, 5}, 4);
  TestTensor<double> k({2, 6, 21, 4}), v({2, 6, 21, 5});
  for_each_index(k.shape(), [&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
    k.at(b, h, s, d) = in.k.at(b, h / 3, s, d);
  });
  for_each_index(v.shape(), [&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
    v.at(b, h, s, d) = in.v.at(b, h / 3, s, d);
  });
  EXPECT_TRUE(answer<double>(in.q.view(), in.k.view(), in.v.view())
                  .same_bits(answer<double>(in.q.view(), k.view(), v.view())));
}

TEST(Scale, ZeroAndNegativeAreUsedAsGiven) {
  const auto in = random_inputs<double>({1, 1, 1, 3, 5, 4, 2}, 6);
  Options options;
  options.scale = 0;
  const auto mean = answer<double>(in.q.view(), in.k.view(), in.v.view(), options);
  double average = 0;
  for (std::int64_t j = 0; j < 5; ++j) average += in.v.at(0, 0, j, 1) / 5;
  EXPECT_NEAR(mean.out.at(0, 0, 2, 1), average, 1e-15);
  EXPECT_NEAR(mean.lse.at(0, 0, 2, 0), std::log(5), 1e-15);

  auto flipped = in;
  for_each_index(flipped.q.shape(), [&](std::int64_t b, std::int64_t h, std::int64_t s,
                                        std::int64_t d) { flipped.q.at(b, h, s, d) *= -1; });
  options.scale = -0.75;
  const auto negative = answer<double>(in.q.view(), in.k.view(), in.v.view(), options);
  options.scale = 0.75;
  EXPECT_TRUE(negative.same_bits(
      answer<double>(flipped.q.view(), flipped.k.view(), flipped.v.view(), options)));
}

TEST(Offsets, OneNumberServesEveryBatchEntry) {
  const auto in = random_inputs<float>({3, 1, 1, 4, 9, 3, 3}, 8);
  const std::int64_t one[] = {2}, three[] = {2, 2, 2};
  Options options;
  options.causal = Causal::bottom_right;
  options.q_offset = one;
  const auto shared = answer<float>(in.q.view(), in.k.view(), in.v.view(), options);
  options.q_offset = three;
  EXPECT_TRUE(shared.same_bits(answer<float>(in.q.view(), in.k.view(), in.v.view(), options)));
  options.q_offset = {};
  EXPECT_FALSE(shared.same_bits(answer<float>(in.q.view(), in.k.view(), in.v.view(), options)));
}

}  // namespace
}  // namespace regard::test
