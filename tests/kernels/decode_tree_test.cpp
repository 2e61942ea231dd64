// What a decoded row sees: trees against dense masks, rings against the tokens they hold, and
// tokens one by one against one long causal call.
#include <gtest/gtest.h>

#include "kernels/decode_trees.h"

namespace regard::test {
namespace {

struct TreeCase {
  std::int64_t keys, rows;
};
// Trees from the first key on, inside a block, across blocks and across a chunk.
constexpr TreeCase kTrees[] = {{1, 1},   {7, 7},    {64, 64},   {65, 64},   {100, 64},
                               {70, 12}, {128, 64}, {1030, 20}, {1024, 32}, {1087, 64}};

TEST(DecodeTree, EqualsADenseMask) {
  std::uint64_t seed = 0;
  for (const TreeCase& tree : kTrees) {
    SCOPED_TRACE(testing::Message() << tree.keys << " keys, " << tree.rows << " rows");
    const std::vector<std::int64_t> lengths = {tree.keys, tree.keys + 33};
    const Cached cached = make_cached(paged(KvType::f16, KvType::int8), lengths, ++seed);
    const auto q = normal_tensor<float>({2, 6, tree.rows, 64}, ++seed);
    const std::vector<std::int64_t> parents = [&] {
      auto all = random_parents(tree.rows, seed);
      for (const std::int64_t parent : random_parents(tree.rows, seed + 1)) all.push_back(parent);
      return all;
    }();
    const BoolTensor mask = mask_of(2, tree.rows, tree.keys + 33, [&](auto n, auto i, auto j) {
      const std::int64_t begin = lengths[std::size_t(n)] - tree.rows;
      return j < begin || is_on_branch(parents.data() + n * tree.rows, i, j - begin);
    });
    for (const Window window : {Window{}, Window{40, -1}}) {
      Options options;
      options.window = window;
      options.causal = window.left < 0 ? Causal::none : Causal::bottom_right;
      const auto result =
          run_decode(cached, q, options, {.rows = {.starts = {}, .parents = parents}});
      options.mask = mask.view();
      EXPECT_TRUE(matches_oracle(cached, q, options, result));
      EXPECT_TRUE(result.same_bits(run_decode(cached, q, options)));
    }
  }
}

TEST(DecodeTree, OfRaggedSequences) {
  const std::vector<std::int64_t> lengths = {50, 9, 1100, 20}, rows = {5, 9, 31, 0};
  const std::vector<std::int64_t> starts = starts_of(rows);
  const Cached cached = make_cached(paged(KvType::f32, KvType::bf16), lengths, 5);
  const auto packed_q = normal_tensor<float>({1, 4, 45, 64}, 6);
  TestTensor<float> q({4, 4, 31, 64});
  fill_normal(q, 7);
  std::vector<std::int64_t> parents, padded;
  for (std::size_t n = 0; n < 4; ++n) {
    const auto own = random_parents(rows[n], 10 + n);
    parents.insert(parents.end(), own.begin(), own.end());
    padded.insert(padded.end(), own.begin(), own.end());
    padded.resize(31 * (n + 1), 1000);  // of rows that do not exist
    for_each_index({1, 4, rows[n], 64}, [&](auto, auto h, auto i, auto d) {
      q.at(std::int64_t(n), h, i, d) = packed_q.at(0, h, starts[n] + i, d);
    });
  }
  const BoolTensor mask = mask_of(4, 31, 1100, [&](auto n, auto i, auto j) {
    const auto at = std::size_t(n);
    const std::int64_t begin = lengths[at] - rows[at];
    return i < rows[at] &&
           (j < begin || is_on_branch(&parents[std::size_t(starts[at])], i, j - begin));
  });
  Options options;
  options.q_len = rows;
  const auto result = run_decode(cached, q, options, {.rows = {.starts = {}, .parents = padded}});
  const auto packed =
      run_decode(cached, packed_q, {}, {.rows = {.starts = starts, .parents = parents}});
  for (std::size_t n = 0; n < 4; ++n) {
    for_each_index({1, 4, rows[n], 1}, [&](auto, auto h, auto i, auto) {
      const Row there{std::int64_t(n), h, i}, here{0, h, starts[n] + i};
      EXPECT_TRUE(same_row(result.out, there, packed.out, here) &&
                  same_row(result.lse, there, packed.lse, here));
    });
  }
  options.mask = mask.view();
  EXPECT_TRUE(matches_oracle(cached, q, options, result));
}

// A prompt, then token by token: each row as in one causal call over all keys.
TEST(DecodeSteps, EqualOneLongCausalCall) {
  constexpr std::int64_t kPrompt = 1000, kSteps = 60, kAll = kPrompt + kSteps;
  for (const KvType type : {KvType::f32, KvType::f16, KvType::int8_32}) {
    const KvCacheOptions options = paged(type, type);
    Cached cached = make_sequences(options, {kAll});
    const Inputs<float> tokens = random_tokens(options, kAll, 1);
    const auto q = normal_tensor<float>({1, 4, kSteps, 64}, 2);
    Decoded<float> steps(q.shape(), 32);
    ASSERT_TRUE(append_part(cached, 0, tokens, 0, kPrompt).ok());
    for (std::int64_t i = 0; i < kSteps; ++i) {
      ASSERT_TRUE(append_part(cached, 0, tokens, kPrompt + i, kPrompt + i + 1).ok());
      const auto step = run_decode(cached, sliced(q, 2, i, 1));
      for_each_index({1, 4, 1, 32}, [&](auto, auto h, auto, auto d) {
        steps.out.at(0, h, i, d) = step.out.at(0, h, 0, d);
        steps.lse.at(0, h, i, 0) = step.lse.at(0, h, 0, 0);
      });
    }
    Options causal;
    causal.causal = Causal::bottom_right;
    EXPECT_TRUE(matches_oracle(cached, q, causal, steps)) << kv_type_name(type);
    EXPECT_TRUE(run_decode(cached, q, causal).same_bits(steps)) << kv_type_name(type);
    Inputs<float> in = dequantised(cached);
    in.q = q.copy();
    const auto whole = run_forward(in, causal);
    EXPECT_TRUE(matches_oracle(in, causal, whole));
  }
}

struct RingCase {
  std::int64_t window, keep_first, spare;
};
constexpr RingCase kRings[] = {{40, 0, 0}, {40, 4, 0}, {100, 33, 7}, {1, 0, 0}, {1100, 16, 20}};

TEST(DecodeRing, EqualsADenseMaskOfHeldTokens) {
  for (const RingCase& ring : kRings) {
    KvCacheOptions options = paged(KvType::f16, KvType::f32);
    options.window = ring.window;
    options.keep_first = ring.keep_first;
    options.spare = ring.spare;
    Cached cached = make_cached(options, {3, 39, 41, 200, 1400}, 3);
    if (ring.spare > 0) {
      ASSERT_TRUE(cached.cache.trim(cached.sequences[3], 200 - ring.spare).ok());
      cached.lengths[3] = 200 - ring.spare;
    }
    const auto q = normal_tensor<float>({5, 4, 3, 64}, 4);
    for (const Window window : {Window{}, Window{5, 0}, Window{30, -1}}) {
      SCOPED_TRACE(testing::Message() << "ring of " << ring.window << ", " << ring.keep_first
                                      << " kept, window " << window.left);
      Options call;
      call.causal = Causal::bottom_right;
      call.window = window;
      const auto result = run_decode(cached, q, call);
      const BoolTensor mask = mask_of(5, 3, 1400, [&](auto n, auto i, auto j) {
        const auto at = std::size_t(n);
        const std::int64_t position = cached.lengths[at] - 3 + i;
        const bool in_window = (window.left < 0 || j >= position - window.left) &&
                               (window.right < 0 || j <= position + window.right);
        const bool is_held = j >= cached.cache.held_from(cached.sequences[at]);
        return j < ring.keep_first || (is_held && in_window);
      });
      Options dense;
      dense.causal = Causal::bottom_right;
      dense.mask = mask.view();
      EXPECT_TRUE(matches_oracle(cached, q, dense, result));
    }
  }
}

}  // namespace
}  // namespace regard::test
