// Calls that are refused: the sentence, and a cache that is bit for bit what it was.
#include <gtest/gtest.h>

#include <string>

#include "cache/tokens.h"

namespace regard::test {
namespace {

/// Two sequences over a pool of four pages, all in use: a has 40 tokens, b is its fork with 5 of
/// its own.
class Refused : public testing::Test {
 protected:
  Refused() : cache(make_cache(small_options(4))) {
    a = added(cache);
    of_a = append_random(cache, a, 40, 1);
    b = forked(cache, a);
    of_b = append_random(cache, b, 5, 2);
    EXPECT_EQ(cache.free_pages(), 0);
  }

  void expect(const Status& status, StatusCode code, const std::string& sentence) {
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_EQ(status.message(), sentence);
    EXPECT_EQ(cache.free_pages(), 0);
    EXPECT_EQ(cache.length(a), 40);
    EXPECT_EQ(cache.length(b), 45);
    EXPECT_TRUE(holds(cache, a, 0, of_a));
    EXPECT_TRUE(holds(cache, b, 0, of_a));
    EXPECT_TRUE(holds(cache, b, 40, of_b));
  }
  void expect_invalid(const Status& status, const std::string& sentence) {
    expect(status, StatusCode::invalid_argument, sentence);
  }

  KvCache cache;
  std::int64_t a = -1, b = -1;
  Tokens of_a, of_b;
};

TEST_F(Refused, AFullPool) {
  expect(append(cache, b, random_tokens(cache.options(), 4, 3)), StatusCode::out_of_memory,
         "pages: 1 are needed for 4 more tokens, but 0 of 4 are free");
  expect(append(cache, a, random_tokens(cache.options(), 100, 3)), StatusCode::out_of_memory,
         "pages: 6 are needed for 100 more tokens, but 0 of 4 are free");
  // The last page of c is a's, too: one token needs a copy of it.
  const std::int64_t c = forked(cache, a);
  expect(append(cache, c, random_tokens(cache.options(), 1, 3)), StatusCode::out_of_memory,
         "pages: 1 are needed for 1 more tokens, but 0 of 4 are free");
  EXPECT_TRUE(holds(cache, c, 0, of_a));
}

TEST_F(Refused, NumbersOfNoSequence) {
  std::int64_t copy = 77;
  const Tokens tokens = random_tokens(cache.options(), 1, 3);
  for (const std::int64_t number : {std::int64_t{-1}, std::int64_t{2}, INT64_MAX, INT64_MIN}) {
    const std::string sentence =
        "sequence: " + std::to_string(number) + " is none of the 2 that live";
    expect_invalid(append(cache, number, tokens), sentence);
    expect_invalid(cache.trim(number, 0), sentence);
    expect_invalid(cache.remove(number), sentence);
    expect_invalid(cache.fork(number, copy), sentence);
    expect_invalid(cache.gather(number, 0, {}, {}), sentence);
    EXPECT_EQ(cache.length(number), -1);
  }
  EXPECT_EQ(copy, 77);
  const std::int64_t c = added(cache);
  ASSERT_TRUE(cache.remove(c).ok());
  expect_invalid(cache.remove(c), "sequence: " + std::to_string(c) + " is none of the 2 that live");
}

TEST_F(Refused, TokensOfOtherShapes) {
  const auto refused = [&](const Shape& k, const Shape& v, const std::string& sentence) {
    const TestTensor<float> k_tokens(k), v_tokens(v);
    expect_invalid(cache.append(a, k_tokens.view(), v_tokens.view()), sentence);
  };
  refused({1, 3, 1, 3}, {1, 2, 1, 5}, "k: shape (1, 3, 1, 3) differs from (1, 2, 1, 3)");
  refused({1, 2, 1, 4}, {1, 2, 1, 5}, "k: shape (1, 2, 1, 4) differs from (1, 2, 1, 3)");
  refused({2, 2, 1, 3}, {1, 2, 1, 5}, "k: shape (2, 2, 1, 3) differs from (1, 2, 1, 3)");
  refused({1, 2, 2, 3}, {1, 2, 1, 5}, "v: shape (1, 2, 1, 5) differs from (1, 2, 2, 5)");
  refused({1, 2, 1, 3}, {1, 2, 1, 3}, "v: shape (1, 2, 1, 3) differs from (1, 2, 1, 5)");
}

TEST_F(Refused, TokensOfOtherTypesOrWithoutMemory) {
  const Tokens tokens = random_tokens(cache.options(), 1, 3);
  ConstTensor k = tokens.k.view(), v = tokens.v.view();
  v.dtype = DType::i64;
  expect_invalid(cache.append(a, k, v), "v: dtype i64 is none of f64, f32, f16 and bf16");
  v = tokens.v.view();
  v.dtype = DType(99);
  expect_invalid(cache.append(a, k, v), "v: dtype unknown is none of f64, f32, f16 and bf16");
  v.dtype = DType::f32;
  k.data = nullptr;
  expect_invalid(cache.append(a, k, v), "k: data is null but its shape is (1, 2, 1, 3)");
  k.data = reinterpret_cast<const char*>(tokens.k.data()) + 2;
  expect_invalid(cache.append(a, k, v),
                 "k: its address is 2 bytes past a multiple of its element, 4 bytes");
  k = tokens.k.view();
  k.strides[1] = INT64_MAX / 2;
  expect_invalid(cache.append(a, k, v),
                 "k: stride 4611686018427387903 of axis 1 times its size 2 leaves the address "
                 "space");
}

TEST_F(Refused, MoreTokensThanNumbersHave) {
  // Nothing is read: the strides of a batch of tokens may be 0.
  const float one = 1;
  const std::int64_t most = 0x7fffffff;
  const ConstTensor k{&one, DType::f32, {1, 2, most, 3}, {0, 0, 0, 0}};
  const ConstTensor v{&one, DType::f32, {1, 2, most, 5}, {0, 0, 0, 0}};
  expect_invalid(cache.append(a, k, v), "k: 2147483647 tokens behind 40 are more than 2147483647");
  ConstTensor longer = k;
  longer.shape[2] = most + 1;
  ConstTensor longer_v = v;
  longer_v.shape[2] = most + 1;
  expect_invalid(cache.append(a, longer, longer_v),
                 "k: axis 2 has size 2147483648, which is not in [0, 2147483647]");
  longer.shape[2] = longer_v.shape[2] = -1;
  expect_invalid(cache.append(a, longer, longer_v),
                 "k: axis 2 has size -1, which is not in [0, 2147483647]");
}

TEST_F(Refused, TrimsToWhatIsNotThere) {
  for (const std::int64_t length : {std::int64_t{-1}, std::int64_t{41}, INT64_MAX, INT64_MIN}) {
    expect_invalid(cache.trim(a, length), "length: " + std::to_string(length) +
                                              " is not in [0, 40], the tokens of sequence " +
                                              std::to_string(a));
  }
}

TEST_F(Refused, GathersOfWhatIsNotThere) {
  Tokens to(cache.options(), 3);
  for (const std::int64_t begin : {std::int64_t{-1}, std::int64_t{38}, INT64_MAX, INT64_MIN}) {
    expect_invalid(cache.gather(a, begin, to.k.tensor(), to.v.tensor()),
                   "begin: 3 tokens from " + std::to_string(begin) + " on are not in [0, 40)");
  }
  Tensor k = to.k.tensor();
  k.shape[1] = 1;
  expect_invalid(cache.gather(a, 0, k, {}), "k: shape (1, 1, 3, 3) differs from (1, 2, 3, 3)");
  k = to.k.tensor();
  k.strides[1] = 0;
  expect_invalid(cache.gather(a, 0, k, {}),
                 "k: strides (18, 0, 3, 1) make shape (1, 2, 3, 3) overlap itself");
  Tensor v = to.v.tensor();
  v.data = to.k.data() + 2;
  expect_invalid(cache.gather(a, 0, to.k.tensor(), v), "k: its memory overlaps that of v");
  EXPECT_EQ(to.k.unwritten(), element_count(to.k.shape()));
  EXPECT_EQ(to.v.unwritten(), element_count(to.v.shape()));
}

}  // namespace
}  // namespace regard::test
