// The three facts hold on random labs and flip when what they rest on is taken away.
#include <cmath>

#include "lab/stored.h"

namespace regard::test {
namespace {

class Facts : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(lab::random_input(1, 6, 16, 8, input).ok());
    ASSERT_TRUE(lab::random_input(2, 32, 64, 256, wide).ok());
    edited = lab::edit_last_token(input.x);
  }
  lab::Facts facts() {
    lab::Facts facts;
    const Status status = lab::check_facts(input, edited, wide, facts);
    EXPECT_TRUE(status.ok()) << status.message();
    return facts;
  }

  lab::CausalInput input, wide;
  lab::Matrix edited;
};

TEST_F(Facts, HoldOnRandomLabs) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    ASSERT_TRUE(lab::random_input(seed, 6, 16, 8, input).ok());
    ASSERT_TRUE(lab::random_input(seed + 100, 32, 64, 256, wide).ok());
    edited = lab::edit_last_token(input.x);
    const lab::Facts found = facts();
    EXPECT_TRUE(found.rows_are_averages) << seed;
    EXPECT_TRUE(found.future_does_not_leak) << seed;
    EXPECT_TRUE(found.scale_keeps_softmax_soft)
        << seed << ": " << found.entropy_scaled << " " << found.entropy_unscaled;
    EXPECT_LE(found.largest_row_sum_error, 1e-15);
    EXPECT_EQ(found.smallest_weight, 0);
    EXPECT_EQ(found.largest_earlier_change, 0);
    EXPECT_GT(found.last_change, 0);
    EXPECT_NEAR(found.entropy_uniform, std::log(32.0), 1e-15);
    EXPECT_LT(found.entropy_scaled, found.entropy_uniform);
  }
}

TEST_F(Facts, EditingTheLastTokenAddsTen) {
  for (std::int64_t i = 0; i < 6; ++i)
    for (std::int64_t d = 0; d < 16; ++d)
      EXPECT_EQ(edited.at(i, d), input.x.at(i, d) + (i == 5 ? 10 : 0));
}

TEST_F(Facts, AnEarlierEditIsSeenAsALeak) {
  edited.at(2, 0) += 1;
  const lab::Facts found = facts();
  EXPECT_FALSE(found.future_does_not_leak);
  EXPECT_GT(found.largest_earlier_change, 0);
}

TEST_F(Facts, NoEditProvesNothing) {
  edited = input.x;
  const lab::Facts found = facts();
  EXPECT_FALSE(found.future_does_not_leak);
  EXPECT_EQ(found.last_change, 0);
}

TEST_F(Facts, NaNProvesNothing) {
  for (const std::int64_t token : {0, 3, 5}) {
    SCOPED_TRACE(token);
    const double kept = input.x.at(token, 0);
    input.x.at(token, 0) = std::nan("");
    const lab::Facts found = facts();
    EXPECT_FALSE(found.rows_are_averages);
    EXPECT_FALSE(found.future_does_not_leak);
    input.x.at(token, 0) = kept;
  }
  EXPECT_TRUE(facts().rows_are_averages);
}

TEST_F(Facts, SmallScoresStaySoftWithoutTheScale) {
  for (double& w : wide.wq.values) w *= 0.01;
  const lab::Facts found = facts();
  EXPECT_GT(found.entropy_scaled, 1.5);
  EXPECT_FALSE(found.scale_keeps_softmax_soft);
}

TEST_F(Facts, HugeScoresSaturateWithTheScale) {
  for (double& w : wide.wq.values) w *= 100;
  const lab::Facts found = facts();
  EXPECT_LT(found.entropy_scaled, 1.5);
  EXPECT_FALSE(found.scale_keeps_softmax_soft);
}

TEST_F(Facts, ShapesThatDisagreeAreRefused) {
  lab::Facts found;
  lab::Matrix shorter = edited;
  shorter.rows = 5;
  EXPECT_EQ(lab::check_facts(input, shorter, wide, found).code(), StatusCode::invalid_argument);
  input.x = edited = {0, 16, {}};
  EXPECT_EQ(lab::check_facts(input, edited, wide, found).code(), StatusCode::invalid_argument);
}

}  // namespace
}  // namespace regard::test
