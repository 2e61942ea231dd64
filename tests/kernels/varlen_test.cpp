// A packed batch gives the bits of one call a sequence: ragged lengths, none of rows or keys, every
// option, half types, stats.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/full_call.h"

namespace regard::test {
namespace {

template <class T>
class Varlen : public testing::Test {};
using Types = testing::Types<float, double, F16, BF16>;
TYPED_TEST_SUITE(Varlen, Types);

struct Lengths {
  std::vector<std::int64_t> rows, keys;

  std::int64_t count() const { return std::int64_t(rows.size()); }
  std::int64_t most_rows() const { return *std::max_element(rows.begin(), rows.end()); }
  std::int64_t most_keys() const { return *std::max_element(keys.begin(), keys.end()); }
};

std::vector<std::int64_t> starts(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int64_t> result = {0};
  for (const std::int64_t length : lengths) result.push_back(result.back() + length);
  return result;
}

template <class T>
FullResult<T> run_packed(const Inputs<T>& in, const Lengths& lengths, const Options& options,
                         Layout layout, const Context& context) {
  const auto q = starts(lengths.rows), kv = starts(lengths.keys);
  FullResult<T> r(in, in.q.shape()[2], 3, layout);
  Outputs outputs = r.outputs();
  outputs.weights = {};
  for (const Outputs& wanted : {outputs, r.only_out()}) {
    const Status status = forward_varlen(context, in.q.view(), in.k.view(), in.v.view(), {q, kv},
                                         wanted, on_test_path<T>(options));
    EXPECT_TRUE(status.ok()) << status.message();
  }
  expect_written(r.out, r.alone, r.lse, r.entropy, r.top_weights, r.top_keys, r.key_mass);
  return r;
}

/// The options of sequence n alone.
template <class T>
FullOptions<T> of_sequence(const FullOptions<T>& full, const Lengths& lengths, std::int64_t n) {
  FullOptions<T> own = entry(full, n);
  own.mask = sliced(sliced(own.mask, 2, 0, lengths.rows[std::size_t(n)]), 3, 0,
                    lengths.keys[std::size_t(n)]);
  own.bias = sliced(sliced(own.bias, 2, 0, lengths.rows[std::size_t(n)]), 3, 0,
                    lengths.keys[std::size_t(n)]);
  return own;
}

template <class T>
void expect_sequence(const FullResult<T>& packed, const Row& first, std::int64_t first_key,
                     const FullResult<T>& single) {
  const auto [batch, heads, rows, dv] = single.out.shape();
  for_each_index({1, heads, rows, 1}, [&](auto, auto h, auto i, auto) {
    const Row there{0, h, first.i + i}, here{0, h, i};
    EXPECT_TRUE(same_row(packed.out, there, single.out, here) &&
                same_row(packed.alone, there, single.alone, here) &&
                same_row(packed.lse, there, single.lse, here) &&
                same_row(packed.entropy, there, single.entropy, here) &&
                same_row(packed.top_weights, there, single.top_weights, here) &&
                same_row(packed.top_keys, there, single.top_keys, here))
        << "head " << h << " row " << i;
  });
  const std::int64_t keys = single.key_mass.shape()[3];
  const auto mass = sliced(packed.key_mass, 3, first_key, keys);
  EXPECT_TRUE(keys == 0 || mass.same_bits(single.key_mass));
}

/// A packed batch with its options, and those of each sequence alone.
template <class T>
struct Batch {
  Lengths lengths;
  std::vector<std::int64_t> q, kv;
  Inputs<T> in;
  FullOptions<T> full;
  std::vector<FullOptions<T>> own;

  explicit Batch(const Lengths& lengths_of_sequences, bool offsets = false)
      : lengths(lengths_of_sequences), q(starts(lengths.rows)), kv(starts(lengths.keys)) {
    in = random_inputs<T>({1, 1, 2, q.back(), kv.back(), 9, 11}, 1);
    full =
        FullOptions<T>({lengths.count(), 1, 2, lengths.most_rows(), lengths.most_keys(), 9, 11}, 2);
    for (std::int64_t n = 0; offsets && n < lengths.count(); ++n) {
      full.q_offset.push_back(40 * n - 3);
    }
    for (std::int64_t n = 0; n < lengths.count(); ++n) {
      own.push_back(of_sequence(full, lengths, n));
    }
  }
};

template <class T>
void compare(const Batch<T>& batch, unsigned kinds, Layout layout, const Context& context) {
  const Lengths& lengths = batch.lengths;
  const LaidOut<T> laid(batch.full, kinds, layout);
  const auto output = layout == Layout::reversed ? Layout::bhsd : layout;
  const auto result =
      run_packed(batch.in.template copy<T>(layout), lengths, laid.options, output, context);
  for (std::size_t n = 0; n < batch.own.size(); ++n) {
    SCOPED_TRACE(testing::Message() << "sequence " << n << " kinds " << kinds);
    const LaidOut<T> alone(batch.own[n], kinds);
    const Inputs<T> part{sliced(batch.in.q, 2, batch.q[n], lengths.rows[n]),
                         sliced(batch.in.k, 2, batch.kv[n], lengths.keys[n]),
                         sliced(batch.in.v, 2, batch.kv[n], lengths.keys[n])};
    expect_sequence(result, {0, 0, batch.q[n]}, batch.kv[n], run_full(part, alone.options));
  }
}

const Lengths kLengthsOfSequences[] = {
    {{5, 0, 11, 1, 28, 0, 50}, {7, 9, 0, 193, 50, 0, 390}},  // the longest last
    {{33, 3, 0, 49}, {600, 1, 8, 60}},                       // and first
    {{16}, {40}},
    {{0, 0}, {0, 3}},
};

TYPED_TEST(Varlen, IsOneCallASequence) {
  for (const Lengths& lengths : kLengthsOfSequences) {
    const Batch<TypeParam> batch(lengths);
    for (const unsigned kinds : {0U, kWindow, kMask | kSinks, kBias | kWindow, kEvery & ~kRagged}) {
      compare(batch, kinds, Layout::bhsd, one_thread());
    }
  }
}

TYPED_TEST(Varlen, AtAnyOffsetsAndLayout) {
  const Batch<TypeParam> last(kLengthsOfSequences[0], true), first(kLengthsOfSequences[1], true);
  for (const Layout layout : kInputLayouts) {
    compare(last, kEvery & ~kRagged, layout, one_thread());
    compare(first, kWindow, layout, one_thread());
  }
}

TYPED_TEST(Varlen, OnAnyNumberOfThreads) {
  const Context three(3);
  const Batch<TypeParam> batch(kLengthsOfSequences[1]);
  for (const unsigned kinds : {kWindow, kEvery & ~kRagged}) {
    compare(batch, kinds, Layout::bhsd, three);
  }
}

// Nothing of one sequence reaches another.
TYPED_TEST(Varlen, ASpoiledSequenceStaysAlone) {
  const Lengths lengths{{9, 20, 9}, {30, 200, 30}};
  const ProblemShape packed{1, 1, 1, 38, 260, 8, 8};
  const auto clean = random_inputs<TypeParam>(packed, 3);
  const auto expected = run_packed(clean, lengths, {}, Layout::bhsd, one_thread());
  auto in = clean;
  for_each_index({1, 1, 200, 8}, [&](auto, auto, auto s, auto d) {
    in.k.at(0, 0, 30 + s, d) = converted<TypeParam>(std::numeric_limits<double>::quiet_NaN());
    in.v.at(0, 0, 30 + s, d) = converted<TypeParam>(std::numeric_limits<double>::infinity());
  });
  const auto result = run_packed(in, lengths, {}, Layout::bhsd, one_thread());
  for (std::int64_t i = 0; i < 38; ++i) {
    const bool spoiled = i >= 9 && i < 29;
    EXPECT_EQ(same_row(result.out, {0, 0, i}, expected.out, {0, 0, i}), !spoiled) << i;
    EXPECT_EQ(same_row(result.lse, {0, 0, i}, expected.lse, {0, 0, i}), !spoiled) << i;
    EXPECT_EQ(same_row(result.entropy, {0, 0, i}, expected.entropy, {0, 0, i}), !spoiled) << i;
  }
  for (const std::int64_t begin : {0, 230}) {
    EXPECT_TRUE(
        sliced(result.key_mass, 3, begin, 30).same_bits(sliced(expected.key_mass, 3, begin, 30)));
  }
}

// As many sequences as rows, one of them long: a range for every row of the longest in each would
// be 8 MB here.
TEST(VarlenScratch, GrowsWithTheRowsThereAre) {
  constexpr std::int64_t kEach = 1000, kRows = 2 * kEach;
  std::vector<std::int64_t> many, one = {0, kRows};
  for (std::int64_t n = 0; n <= kEach; ++n) many.push_back(n);
  many.push_back(kRows);
  const TestTensor<float> in({1, 1, kRows, 4});
  TestTensor<float> out(in.shape());
  const auto scratch_bytes = [&](const std::vector<std::int64_t>& sequences) {
    Options options;
    options.path = Path::direct;
    Explanation explanation;
    const Status status =
        explain_varlen(Context(1), in.view(), in.view(), in.view(), {sequences, sequences},
                       {.out = out.tensor(), .lse = {}, .weights = {}}, options, explanation);
    EXPECT_TRUE(status.ok()) << status.message();
    return explanation.scratch_bytes;
  };
  EXPECT_LE(scratch_bytes(many), scratch_bytes(one));
}

}  // namespace
}  // namespace regard::test
