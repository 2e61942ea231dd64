// The two teaching programs against what the programs they come from gave.
#include "lab/stored.h"

namespace regard::test {
namespace {

lab::CausalInput small_lab(const Stored& stored) {
  return {stored.matrix("x"), stored.matrix("wq"), stored.matrix("wk"), stored.matrix("wv")};
}

TEST(StoredLab, OutputAndWeights) {
  const Stored stored("lab.npz");
  lab::CausalResult result;
  ASSERT_TRUE(lab::causal_attention(small_lab(stored), true, result).ok());
  expect_near(stored.values("out"), result.out.values, 4e-15);
  expect_near(stored.values("weights"), result.weights.values, 1e-15);
}

TEST(StoredLab, OutputAfterEditingTheLastToken) {
  const Stored stored("lab.npz");
  lab::CausalInput input = small_lab(stored);
  input.x = stored.matrix("x_edited");
  lab::CausalResult result;
  ASSERT_TRUE(lab::causal_attention(input, true, result).ok());
  expect_near(stored.values("out_edited"), result.out.values, 4e-14);
}

TEST(StoredLab, FactsAndEntropies) {
  const Stored stored("lab.npz");
  const lab::CausalInput wide{stored.matrix("xb"), stored.matrix("wq_b"), stored.matrix("wk_b"),
                              stored.matrix("wv_b")};
  lab::Facts facts;
  ASSERT_TRUE(lab::check_facts(small_lab(stored), stored.matrix("x_edited"), wide, facts).ok());
  EXPECT_TRUE(facts.rows_are_averages);
  EXPECT_TRUE(facts.future_does_not_leak);
  EXPECT_TRUE(facts.scale_keeps_softmax_soft);
  EXPECT_NEAR(facts.entropy_scaled, stored.values("entropy_scaled").at(0), 1e-14);
  EXPECT_NEAR(facts.entropy_scaled, 2.6822674079101985, 1e-14);
  EXPECT_NEAR(facts.entropy_unscaled, stored.values("entropy_unscaled").at(0), 1e-18);
  EXPECT_NEAR(facts.entropy_unscaled, 1.2754470186971643e-08, 1e-18);
}

TEST(StoredBlocked, BothFormsGiveTheStoredOutput) {
  const Stored stored("blocked.npz");
  const auto& shape = stored.array("q").shape;
  ASSERT_EQ(shape, (std::vector<std::int64_t>{1, 8, 128}));
  const lab::BlockedInput input{.batch = 1,
                                .sq = 8,
                                .skv = 8,
                                .d = 128,
                                .dv = 128,
                                .q = stored.values("q"),
                                .k = stored.values("k"),
                                .v = stored.values("v")};
  std::vector<double> plain, blocked;
  ASSERT_TRUE(lab::plain_attention(input, 1, plain).ok());
  ASSERT_TRUE(lab::blocked_attention(input, 1, 4, blocked).ok());
  expect_near(stored.values("out"), plain, 1e-14);
  expect_near(stored.values("block_out"), blocked, 1e-14);
  expect_near(plain, blocked, 1e-14);
}

}  // namespace
}  // namespace regard::test
