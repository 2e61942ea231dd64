// Blocked attention agrees with the plain form for any length and any block.
#include <cmath>
#include <limits>
#include <random>

#include "lab/stored.h"

namespace regard::test {
namespace {

std::vector<double> normal_values(std::int64_t count, std::uint64_t seed, double deviation = 1) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal(0, deviation);
  std::vector<double> values(std::size_t(count), 0.0);
  for (double& value : values) value = normal(engine);
  return values;
}

lab::BlockedInput random_problem(std::int64_t batch, std::int64_t sq, std::int64_t skv,
                                 std::int64_t d, std::int64_t dv) {
  return {.batch = batch,
          .sq = sq,
          .skv = skv,
          .d = d,
          .dv = dv,
          .q = normal_values(batch * sq * d, 1),
          .k = normal_values(batch * skv * d, 2),
          .v = normal_values(batch * skv * dv, 3)};
}

void expect_agreement(const lab::BlockedInput& input, double scale, std::int64_t block) {
  SCOPED_TRACE(testing::Message() << input.batch << " x " << input.sq << " x " << input.skv
                                  << ", block " << block << ", scale " << scale);
  std::vector<double> plain, blocked;
  ASSERT_TRUE(lab::plain_attention(input, scale, plain).ok());
  ASSERT_TRUE(lab::blocked_attention(input, scale, block, blocked).ok());
  ASSERT_EQ(std::int64_t(plain.size()), input.batch * input.sq * input.dv);
  expect_near(plain, blocked, 1e-13);
}

TEST(Blocked, AnyBlock) {
  const auto input = random_problem(1, 37, 37, 16, 16);
  for (std::int64_t block = 1; block <= 64; ++block) expect_agreement(input, 0.25, block);
  expect_agreement(input, 0.25, std::numeric_limits<std::int64_t>::max());
}

TEST(Blocked, AnyShape) {
  for (const std::int64_t block : {1, 4, 7, 16}) {
    expect_agreement(random_problem(1, 8, 8, 128, 128), 1, block);
    expect_agreement(random_problem(3, 5, 11, 8, 8), 1, block);
    expect_agreement(random_problem(2, 13, 4, 8, 3), -0.5, block);
    expect_agreement(random_problem(3, 1, 29, 1, 5), 0, block);
    expect_agreement(random_problem(1, 9, 1, 2, 2), 1, block);
  }
}

TEST(Blocked, PlainIsTheDefinition) {
  // One query, two keys: weights e^2 and e^1.
  const lab::BlockedInput input{
      .batch = 1, .sq = 1, .skv = 2, .d = 1, .dv = 2, .q = {1}, .k = {4, 2}, .v = {1, 0, 0, 1}};
  std::vector<double> out;
  ASSERT_TRUE(lab::plain_attention(input, 0.5, out).ok());
  const double p = 1 / (1 + std::exp(-1.0));
  expect_near({p, 1 - p}, out, 1e-15);
}

TEST(Blocked, BatchEntriesAreProblemsOfTheirOwn) {
  const auto all = random_problem(3, 4, 6, 5, 2);
  std::vector<double> together;
  ASSERT_TRUE(lab::plain_attention(all, 1, together).ok());
  const auto part = [](const std::vector<double>& values, std::int64_t b) {
    const auto size = std::ptrdiff_t(values.size() / 3);
    return std::vector<double>(values.begin() + b * size, values.begin() + (b + 1) * size);
  };
  for (std::int64_t b = 0; b < 3; ++b) {
    auto one = all;
    one.batch = 1;
    one.q = part(all.q, b);
    one.k = part(all.k, b);
    one.v = part(all.v, b);
    std::vector<double> alone;
    ASSERT_TRUE(lab::plain_attention(one, 1, alone).ok());
    EXPECT_EQ(part(together, b), alone);
  }
}

TEST(Blocked, GrowingScoresAreRescaled) {
  // Every tile raises the maximum, and exp of an unshifted score would overflow.
  auto input = random_problem(1, 2, 40, 1, 3);
  for (std::int64_t i = 0; i < 2; ++i) input.q[std::size_t(i)] = 1;
  for (std::int64_t j = 0; j < 40; ++j) input.k[std::size_t(j)] = 30.0 * double(j);
  for (const std::int64_t block : {1, 3, 8}) {
    expect_agreement(input, 1, block);
    expect_agreement(input, -1, block);
  }
}

TEST(Blocked, RowsWithoutKeysGiveZero) {
  const auto input = random_problem(2, 3, 0, 4, 2);
  std::vector<double> plain(1, 5.0), blocked(1, 5.0);
  ASSERT_TRUE(lab::plain_attention(input, 1, plain).ok());
  ASSERT_TRUE(lab::blocked_attention(input, 1, 4, blocked).ok());
  EXPECT_EQ(plain, std::vector<double>(12, 0.0));
  EXPECT_EQ(blocked, std::vector<double>(12, 0.0));
}

TEST(Blocked, NothingGivesNothing) {
  std::vector<double> out(1, 5.0);
  ASSERT_TRUE(lab::blocked_attention(random_problem(0, 3, 3, 4, 2), 1, 4, out).ok());
  EXPECT_TRUE(out.empty());
}

TEST(Blocked, BadCallsAreRefused) {
  const auto sound = random_problem(1, 3, 4, 5, 6);
  std::vector<double> out{7};
  const auto expect_refused = [&](const lab::BlockedInput& input, std::int64_t block,
                                  const char* name) {
    const Status status = lab::blocked_attention(input, 1, block, out);
    EXPECT_EQ(status.code(), StatusCode::invalid_argument);
    EXPECT_EQ(status.message().rfind(name, 0), 0U) << status.message();
  };
  expect_refused(sound, 0, "block:");
  expect_refused(sound, -4, "block:");
  auto input = sound;
  input.q.pop_back();
  expect_refused(input, 4, "q:");
  input = sound;
  input.skv = 5;
  expect_refused(input, 4, "k:");
  input = sound;
  input.dv = 5;
  expect_refused(input, 4, "v:");
  input = sound;
  input.d = 0;
  expect_refused(input, 4, "d, dv:");
  input = sound;
  input.batch = -1;
  expect_refused(input, 4, "batch, sq, skv:");
  EXPECT_EQ(lab::plain_attention(input, 1, out).code(), StatusCode::invalid_argument);
  EXPECT_EQ(out, std::vector<double>{7}) << "a refused call leaves the output alone";
}

}  // namespace
}  // namespace regard::test
