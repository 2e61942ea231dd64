// What a decoded row does not see never reaches it: behind every kind of exclusion, and in tokens
// that are gone.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/decode_trees.h"

namespace regard::test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

/// A cache of one sequence whose token `key` holds `poison` in K's or V's column 5.
Cached poisoned(const KvCacheOptions& options, std::int64_t length, std::int64_t key, double poison,
                bool in_values) {
  Cached cached = make_sequences(options, {length});
  Inputs<float> tokens = random_tokens(options, length, 1);
  if (key >= 0) (in_values ? tokens.v : tokens.k).at(0, 0, key, 5) = float(poison);
  EXPECT_TRUE(append_part(cached, 0, tokens, 0, length).ok());
  return cached;
}

template <class T, class F>
void expect_spoiled_where_seen(const Decoded<T>& result, const Decoded<T>& clean, bool in_values,
                               const F& sees) {
  const Shape& shape = result.out.shape();
  for_each_index({1, shape[1], shape[2], 1}, [&](auto, auto h, auto i, auto) {
    const Row row{0, h, i};
    // KV head 0 holds the poison.
    if (h >= shape[1] / 2 || !sees(i)) {
      EXPECT_TRUE(same_row(result.out, row, clean.out, row) &&
                  same_row(result.lse, row, clean.lse, row))
          << "head " << h << " row " << i;
      return;
    }
    for (std::int64_t d = 0; d < shape[3]; ++d) {
      if (in_values && d != 5) continue;
      EXPECT_FALSE(std::isfinite(converted<float>(result.out.at(0, h, i, d))))
          << "row " << i << " column " << d;
    }
  });
}

/// Whole vectors of a head of 72 reach into the next row, which may be hidden; of 90 keys, so is
/// that of a whole tile.
template <class T>
void expect_poison_where_seen(KvType type, std::int64_t head_size) {
  KvCacheOptions options = paged(type, type, 64);
  options.k_head_size = head_size;
  options.v_head_size = head_size / 2;
  const auto q = normal_tensor<T>({1, 4, 12, head_size}, 2);
  Options causal;
  causal.causal = Causal::bottom_right;
  for (const std::int64_t length : {12, 70, 90, 1030}) {
    const auto clean = run_decode(poisoned(options, length, -1, 0, false), q, causal);
    for (const std::int64_t back : {1, 2, 6, 7, 8, 11, 12}) {
      for (const double poison : {kNaN, kInf, -kInf}) {
        for (const bool in_values : {false, true}) {
          const std::int64_t key = length - back;
          SCOPED_TRACE(testing::Message()
                       << kv_type_name(type) << " " << head_size << " key " << key << " of "
                       << length << ": " << poison << ' ' << in_values);
          const Cached cached = poisoned(options, length, key, poison, in_values);
          expect_spoiled_where_seen(run_decode(cached, q, causal), clean, in_values,
                                    [&](std::int64_t i) { return i >= 12 - back; });
        }
      }
    }
  }
}

// Rows of f32 are read in place, the others by loaders of the ISA or converted; queries of bf16
// meet keys of bf16 as they are where the ISA multiplies pairs.
TEST(DecodeHidden, PoisonReachesOnlyTheRowsThatSeeIt) {
  for (const std::int64_t head_size : {64, 72}) {
    for (const KvType type : {KvType::f32, KvType::bf16, KvType::fp8_e5m2}) {
      expect_poison_where_seen<float>(type, head_size);
    }
    expect_poison_where_seen<BF16>(KvType::bf16, head_size);
  }
}

// Hidden by a mask, a bias, a tree, a window and both ends of lengths.
TEST(DecodeHidden, PoisonBehindEveryKindOfExclusion) {
  const std::int64_t length = 150;
  const KvCacheOptions options = paged(KvType::f32, KvType::f32);
  const auto q = normal_tensor<float>({1, 4, 12, 64}, 2);
  const auto shown = [](std::int64_t i, std::int64_t j) { return (i + j) % 3 != 0; };
  const BoolTensor mask = mask_of(1, 12, length, [&](auto, auto i, auto j) { return shown(i, j); });
  TestTensor<float> bias({1, 1, 12, length});
  for_each_index(bias.shape(), [&](auto b, auto h, auto i, auto j) {
    bias.at(b, h, i, j) = shown(i, j) ? 0.25F : -float(kInf);
  });
  const std::vector<std::int64_t> parents = random_parents(12, 3), offset = {100};
  for (int kind = 0; kind < 4; ++kind) {
    Options call;
    if (kind == 0) call.mask = mask.view();
    if (kind == 1) call.bias = bias.view();
    if (kind == 2) call.window = {3, 2};
    if (kind == 2) call.q_offset = offset;
    HowDecoded how;
    if (kind == 3) how.rows.parents = parents;
    const auto clean = run_decode(poisoned(options, length, -1, 0, false), q, call, how);
    for (std::int64_t key = 96; key < length; key += 3) {
      for (const bool in_values : {false, true}) {
        SCOPED_TRACE(testing::Message() << "kind " << kind << " key " << key << ' ' << in_values);
        const Cached cached = poisoned(options, length, key, kNaN, in_values);
        const auto result = run_decode(cached, q, call, how);
        expect_spoiled_where_seen(result, clean, in_values, [&](std::int64_t i) {
          if (kind < 2) return shown(i, key);
          if (kind == 2) return key >= 100 + i - 3 && key <= 100 + i + 2;
          return key < length - 12 || is_on_branch(parents.data(), i, key - (length - 12));
        });
      }
    }
  }
}

// What was trimmed, what a ring has dropped but still stands in a page, and pages used before.
TEST(DecodeHidden, PoisonOfTokensThatAreGone) {
  for (const KvType type : {KvType::f32, KvType::int8, KvType::q8_0}) {
    KvCacheOptions options = paged(type, type, 64);
    const auto q = normal_tensor<float>({1, 4, 2, 64}, 2);
    for (const std::int64_t window : {-1, 50}) {
      options.window = window;
      options.spare = window < 0 ? 0 : 40;
      Decoded<float> results[2];
      for (const bool spoiled : {false, true}) {
        Cached cached = make_sequences(options, {170});
        Inputs<float> tokens = random_tokens(options, 170, 1);
        for (std::int64_t key = 0; spoiled && key < 170; ++key) {
          const bool gone = key >= 140 || (window >= 0 && key < 90);
          if (!gone) continue;
          for (std::int64_t h = 0; h < 2; ++h) {
            tokens.k.at(0, h, key, 3) = float(kNaN);
            tokens.v.at(0, h, key, 3) = float(kInf);
          }
        }
        ASSERT_TRUE(append_part(cached, 0, tokens, 0, 170).ok());
        ASSERT_TRUE(cached.cache.trim(cached.sequences[0], 140).ok());
        cached.lengths[0] = 140;
        results[spoiled] = run_decode(cached, q);
      }
      EXPECT_TRUE(results[1].same_bits(results[0])) << kv_type_name(type) << " " << window;
    }
  }
}

// A spoiled row changes no other, whatever they share.
TEST(DecodeHidden, ASpoiledQueryRowStaysAlone) {
  const Cached cached = make_cached(paged(KvType::f16, KvType::f16), {1100}, 1);
  const auto clean = normal_tensor<float>({1, 6, 5, 64}, 2);
  const auto expected = run_decode(cached, clean);
  for (const double poison : {kNaN, kInf, -kInf, 1e3}) {
    auto q = clean;
    q.at(0, 1, 2, 7) = float(poison);
    const auto result = run_decode(cached, q);
    for_each_index({1, 6, 5, 1}, [&](auto, auto h, auto i, auto) {
      const Row row{0, h, i};
      const bool same = same_row(result.out, row, expected.out, row) &&
                        same_row(result.lse, row, expected.lse, row);
      EXPECT_EQ(same, h != 1 || i != 2) << poison << " head " << h << " row " << i;
    });
    EXPECT_EQ(std::isfinite(result.out.at(0, 1, 2, 0)), poison == 1e3);
  }
}

}  // namespace
}  // namespace regard::test
