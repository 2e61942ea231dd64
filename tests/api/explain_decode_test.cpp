// What `explain_decode` says of a cache is what its decode takes and does.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "regard/decode.h"
#include "support/inputs.h"

namespace regard::test {
namespace {

/// A sequence of 70 tokens in pages of 16, two KV heads of f16, and four query heads.
struct Decoding {
  KvCache cache;
  std::vector<std::int64_t> sequences = {0};
  TestTensor<float> q = normal_tensor<float>({1, 4, 1, 8}, 1);
  TestTensor<float> out{{1, 4, 1, 8}};
  Options options;

  Decoding() {
    EXPECT_TRUE(
        KvCache::create(
            {.kv_heads = 2, .k_head_size = 8, .v_head_size = 8, .page_tokens = 16, .pages = 5},
            cache)
            .ok());
    EXPECT_TRUE(cache.add(sequences[0]).ok());
    const auto k = normal_tensor<float>({1, 2, 70, 8}, 2), v = normal_tensor<float>(k.shape(), 3);
    EXPECT_TRUE(cache.append(sequences[0], k.view(), v.view()).ok());
  }
  Outputs outputs() { return {.out = out.tensor(), .lse = {}, .weights = {}}; }
  Status run() { return decode(Context(1), q.view(), cache, sequences, {}, outputs(), options); }
  Status explain(Explanation& explanation) {
    return explain_decode(Context(1), q.view(), cache, sequences, {}, outputs(), options,
                          explanation);
  }
};

struct Free {
  void operator()(std::byte* memory) const noexcept { std::free(memory); }
};

TEST(ExplainDecode, SaysHowMuchScratchACacheTakes) {
  Decoding decoding;
  Explanation explanation;
  ASSERT_TRUE(decoding.explain(explanation).ok());
  const auto bytes = static_cast<std::size_t>(explanation.scratch_bytes);
  const std::unique_ptr<std::byte, Free> memory(
      static_cast<std::byte*>(std::aligned_alloc(64, bytes)));
  decoding.options.scratch = {memory.get(), bytes};
  EXPECT_TRUE(decoding.run().ok()) << decoding.run().message();
  decoding.options.scratch = {memory.get(), bytes - 1};
  EXPECT_EQ(decoding.run().code(), StatusCode::invalid_argument);
}

// 70 tokens are a block of 64 keys and one of 6, for each of two KV heads.
TEST(ExplainDecode, CountsBlocksThatRowsSee) {
  Decoding decoding;
  Explanation explanation;
  ASSERT_TRUE(decoding.explain(explanation).ok());
  EXPECT_EQ(explanation.tiles_visited, 4);
  EXPECT_EQ(explanation.tiles_total, 4);
  decoding.options.causal = Causal::bottom_right;
  decoding.options.window = {5, 0};
  ASSERT_TRUE(decoding.explain(explanation).ok());
  EXPECT_EQ(explanation.tiles_visited, 2);
  EXPECT_EQ(explanation.tiles_total, 4);
  const std::string text = to_text(explanation);
  EXPECT_NE(text.find("keys are in a cache"), std::string::npos) << text;
  EXPECT_NE(text.find("visited   2 of 4 tiles (50.0%), 1 passes"), std::string::npos) << text;
}

TEST(ExplainDecode, RefusesWhatDecodeRefuses) {
  Decoding decoding;
  Explanation explanation;
  explanation.path_reason = "untouched";
  decoding.sequences = {7};
  EXPECT_EQ(decoding.explain(explanation).message(), decoding.run().message());
  decoding.cache = {};
  EXPECT_EQ(decoding.explain(explanation).message(), "cache: it has not been created");
  EXPECT_EQ(explanation.path_reason, "untouched");
}

}  // namespace
}  // namespace regard::test
