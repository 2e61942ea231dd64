// Calls with every option on and every output asked for.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/engine.h"

namespace regard::test {

/// A boolean tensor in a chosen layout; true, by several bytes, where a number is not 0.
class BoolTensor {
 public:
  BoolTensor() = default;
  explicit BoolTensor(const TestTensor<float>& numbers, Layout layout = Layout::bhsd)
      : like_(numbers.copy(layout)), bytes_(std::size_t(2 * reach(like_) + 1), 1) {
    origin_ = reach(like_);
    for_each_index(like_.shape(), [&](auto b, auto h, auto i, auto j) {
      const std::int64_t at = &like_.at(b, h, i, j) - like_.data();
      const bool is_true = like_.at(b, h, i, j) != 0;
      bytes_[std::size_t(origin_ + at)] = is_true ? (at % 3 == 0 ? 255 : 1) : 0;
    });
  }
  ConstTensor view() const {
    return {bytes_.data() + origin_, DType::boolean, like_.shape(), like_.strides()};
  }

 private:
  static std::int64_t reach(const TestTensor<float>& t) {
    std::int64_t sum = 0;
    for (std::size_t axis = 0; axis < 4; ++axis)
      sum += std::abs(t.strides()[axis]) * std::max<std::int64_t>(t.shape()[axis] - 1, 0);
    return sum;
  }
  TestTensor<float> like_;
  std::vector<unsigned char> bytes_;
  std::int64_t origin_ = 0;
};

/// Places [begin, begin + count) of one axis.
template <class T>
TestTensor<T> sliced(const TestTensor<T>& from, std::size_t axis, std::int64_t begin,
                     std::int64_t count) {
  if (from.shape()[axis] == 1 && count != 1) return from;  // broadcast
  Shape shape = from.shape();
  shape[axis] = count;
  TestTensor<T> result(shape);
  for_each_index(shape, [&](auto b, auto h, auto s, auto d) {
    Shape at{b, h, s, d};
    at[axis] += begin;
    result.at(b, h, s, d) = from.at(at[0], at[1], at[2], at[3]);
  });
  return result;
}

/// Kinds of options, to be added up.
inline constexpr unsigned kMask = 1;
inline constexpr unsigned kBias = 2;
inline constexpr unsigned kWindow = 4;  ///< with causal
inline constexpr unsigned kSoftcap = 8;
inline constexpr unsigned kAlibi = 16;
inline constexpr unsigned kSinks = 32;
inline constexpr unsigned kRagged = 64;  ///< q_len and kv_len
inline constexpr unsigned kEvery = 127;
inline constexpr unsigned kKindSets[] = {
    0,
    kMask,
    kBias,
    kWindow,
    kSoftcap,
    kAlibi,
    kSinks,
    kMask | kWindow | kSinks | kRagged,
    kAlibi | kRagged,
    kEvery,
};

/// The options of a problem and what they refer to.
template <class T>
struct FullOptions {
  TestTensor<float> mask;
  TestTensor<T> bias;
  TestTensor<ComputeType<T>> slopes;
  TestTensor<double> sinks;
  std::vector<std::int64_t> q_offset, q_len, kv_len;
  Window window;

  FullOptions() = default;
  /// Row 2 sees nothing, keys 16 to 31 are seen by nobody, and in head 0 the second block of keys
  /// is hidden from the first rows.
  FullOptions(const ProblemShape& shape, std::uint64_t seed)
      : mask(shape.weights()),
        bias(normal_tensor<T>(shape.weights(), seed)),
        slopes(uniform_tensor<ComputeType<T>>({shape.batch, shape.heads(), 1, 1}, seed, 0, 0.5)),
        sinks(normal_tensor<double>({1, shape.heads(), 1, 1}, seed + 1, Layout::bhsd, 2)),
        window{shape.skv / 3, 5} {
    std::mt19937_64 engine(seed);
    for_each_index(shape.weights(), [&](auto b, auto h, auto i, auto j) {
      const bool hidden =
          i == 2 || (j >= 16 && j < 32) || (h == 0 && i < 60 && j >= 192 && j < 384);
      mask.at(b, h, i, j) = !hidden && engine() % 3 != 0;
      if (engine() % 6 == 0)
        bias.at(b, h, i, j) = converted<T>(-std::numeric_limits<double>::infinity());
    });
    for (std::int64_t b = 0; b < shape.batch; ++b) {
      q_len.push_back(b % 3 == 1 ? shape.sq : shape.sq - shape.sq / 5);
      kv_len.push_back(b % 3 == 2 ? shape.skv : shape.skv - shape.skv / 7);
    }
  }
};

/// Batch entry b of the options.
template <class T>
FullOptions<T> entry(const FullOptions<T>& full, std::int64_t b) {
  FullOptions<T> one = full;
  one.mask = sliced(full.mask, 0, b, 1);
  one.bias = sliced(full.bias, 0, b, 1);
  one.slopes = sliced(full.slopes, 0, b, 1);
  one.q_len = {full.q_len[std::size_t(b)]};
  one.kv_len = {full.kv_len[std::size_t(b)]};
  if (full.q_offset.size() > 1) one.q_offset = {full.q_offset[std::size_t(b)]};
  return one;
}

/// `kinds` of the options in a layout. Refers to `full`.
template <class T>
struct LaidOut {
  BoolTensor mask;
  TestTensor<T> bias;
  Options options;

  LaidOut(const FullOptions<T>& full, unsigned kinds, Layout layout = Layout::bhsd) {
    if (kinds & kMask) mask = BoolTensor(full.mask, layout);
    if (kinds & kMask) options.mask = mask.view();
    if (kinds & kBias) bias = full.bias.template copy<T>(layout);
    if (kinds & kBias) options.bias = bias.view();
    if (kinds & kWindow) options.window = full.window;
    if (kinds & kWindow) options.causal = Causal::bottom_right;
    if (kinds & kSoftcap) options.softcap = 2.5;
    if (kinds & kAlibi) options.alibi_slopes = full.slopes.view();
    if (kinds & kSinks) options.sinks = full.sinks.view();
    if (kinds & kRagged) options.q_len = full.q_len;
    if (kinds & kRagged) options.kv_len = full.kv_len;
    options.q_offset = full.q_offset;
  }
  LaidOut(const LaidOut&) = delete;
  LaidOut& operator=(const LaidOut&) = delete;
};

template <class T, class Out = T>
struct FullResult {
  using C = ComputeType<T>;
  TestTensor<Out> out;
  TestTensor<Out> alone;  ///< out of a call that asks for nothing else
  TestTensor<C> lse, entropy, top_weights, key_mass, weights;
  TestTensor<std::int64_t> top_keys;

  FullResult(const Inputs<T>& in, std::int64_t rows, std::int64_t top, Layout layout)
      : out(at(in, in.q.shape()[2], in.v.shape()[3]), layout),
        alone(at(in, in.q.shape()[2], in.v.shape()[3]), layout),
        lse(at(in, in.q.shape()[2], 1), layout),
        entropy(at(in, in.q.shape()[2], 1), layout),
        top_weights(at(in, in.q.shape()[2], top), layout),
        key_mass(at(in, 1, in.k.shape()[2]), layout),
        weights(at(in, rows, in.k.shape()[2]), layout),
        top_keys(at(in, in.q.shape()[2], top), layout) {}

  Outputs outputs() {
    return {.out = out.tensor(),
            .lse = lse.tensor(),
            .weights = weights.tensor(),
            .entropy = entropy.tensor(),
            .top_weights = top_weights.tensor(),
            .top_keys = top_keys.tensor(),
            .key_mass = key_mass.tensor()};
  }
  Outputs only_out() {
    Outputs outputs;
    outputs.out = alone.tensor();
    return outputs;
  }

 private:
  static Shape at(const Inputs<T>& in, std::int64_t rows, std::int64_t columns) {
    return {in.q.shape()[0], in.q.shape()[1], rows, columns};
  }
};

template <class A, class... More>
void expect_written(const A& tensor, const More&... more) {
  EXPECT_TRUE(tensor.canaries_intact());
  EXPECT_EQ(tensor.unwritten(), 0);
  if constexpr (sizeof...(More) > 0) expect_written(more...);
}

template <class T, class Out = T>
FullResult<T, Out> run_full(const Inputs<T>& in, const Options& asked,
                            const Context& context = one_thread(), Layout layout = Layout::bhsd,
                            std::int64_t top = 3) {
  const Options options = on_test_path<T>(asked);
  const auto rows = options.rows.empty() ? in.q.shape()[2] : std::int64_t(options.rows.size());
  FullResult<T, Out> r(in, rows, top, layout);
  for (const Outputs& outputs : {r.outputs(), r.only_out()}) {
    const Status status = forward(context, in.q.view(), in.k.view(), in.v.view(), outputs, options);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  expect_written(r.out, r.alone, r.lse, r.entropy, r.top_weights, r.top_keys, r.key_mass,
                 r.weights);
  return r;
}

/// Same bits of everything.
template <class T, class Out>
testing::AssertionResult same_bits(const FullResult<T, Out>& a, const FullResult<T, Out>& b) {
  const std::pair<const char*, bool> parts[] = {
      {"out", a.out.same_bits(b.out)},
      {"out alone", a.alone.same_bits(b.alone)},
      {"lse", a.lse.same_bits(b.lse)},
      {"entropy", a.entropy.same_bits(b.entropy)},
      {"top_weights", a.top_weights.same_bits(b.top_weights)},
      {"top_keys", a.top_keys.same_bits(b.top_keys)},
      {"key_mass", a.key_mass.same_bits(b.key_mass)},
      {"weights", a.weights.same_bits(b.weights)}};
  for (const auto& [name, same] : parts) {
    if (!same) return testing::AssertionFailure() << name << " differs";
  }
  return testing::AssertionSuccess();
}

struct Row {
  std::int64_t b, h, i;
};

/// Same bits of one row of both, as far as both reach.
template <class T>
bool same_row(const TestTensor<T>& a, const Row& r, const TestTensor<T>& x, const Row& s) {
  for (std::int64_t d = 0; d < std::min(a.shape()[3], x.shape()[3]); ++d) {
    // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): bits are meant, not values.
    if (std::memcmp(&a.at(r.b, r.h, r.i, d), &x.at(s.b, s.h, s.i, d), sizeof(T)) != 0) return false;
  }
  return true;
}

template <class T>
testing::AssertionResult same_row(const FullResult<T>& a, const Row& r, const FullResult<T>& x,
                                  const Row& s) {
  const std::pair<const char*, bool> parts[] = {
      {"out", same_row(a.out, r, x.out, s)},
      {"out alone", same_row(a.alone, r, x.alone, s)},
      {"lse", same_row(a.lse, r, x.lse, s)},
      {"entropy", same_row(a.entropy, r, x.entropy, s)},
      {"top_weights", same_row(a.top_weights, r, x.top_weights, s)},
      {"top_keys", same_row(a.top_keys, r, x.top_keys, s)},
      {"weights", same_row(a.weights, r, x.weights, s)}};
  for (const auto& [name, same] : parts) {
    if (!same) return testing::AssertionFailure() << name << " of row " << r.i << " differs";
  }
  return testing::AssertionSuccess();
}

}  // namespace regard::test
