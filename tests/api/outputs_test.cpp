// Any subset of the outputs may be asked for; each has the bits it has among all of them.
#include <gtest/gtest.h>

#include <vector>

#include "regard/attention.h"
#include "support/inputs.h"

namespace regard::test {
namespace {

constexpr ProblemShape kShape{2, 2, 2, 41, 67, 12, 21};

template <class T>
class OutputSets : public testing::Test {
 protected:
  struct Wanted {
    bool out, lse, weights;
  };
  struct Result {
    TestTensor<T> out, lse, weights;
  };

  Result run(const Wanted& wanted, const Options& options) {
    Shape weights = kShape.weights();
    if (!options.rows.empty()) weights[2] = std::int64_t(options.rows.size());
    Result r{TestTensor<T>(kShape.out()), TestTensor<T>(kShape.lse()), TestTensor<T>(weights)};
    const Status status = forward(context, in.q.view(), in.k.view(), in.v.view(),
                                  {.out = wanted.out ? r.out.tensor() : Tensor{},
                                   .lse = wanted.lse ? r.lse.tensor() : Tensor{},
                                   .weights = wanted.weights ? r.weights.tensor() : Tensor{}},
                                  options);
    EXPECT_TRUE(status.ok()) << status.message();
    return r;
  }

  Context context{1};
  Inputs<T> in = random_inputs<T>(kShape, 11);
};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(OutputSets, Types);

TYPED_TEST(OutputSets, InAnyCombinationHaveTheSameBits) {
  for (const Causal causal : {Causal::none, Causal::top_left}) {
    Options options;
    options.causal = causal;
    const auto all = this->run({true, true, true}, options);
    EXPECT_EQ(all.out.unwritten() + all.lse.unwritten() + all.weights.unwritten(), 0);
    for (int subset = 0; subset < 8; ++subset) {
      const bool out = subset & 1, lse = subset & 2, weights = subset & 4;
      const auto some = this->run({out, lse, weights}, options);
      EXPECT_TRUE(!out || some.out.same_bits(all.out)) << subset;
      EXPECT_TRUE(!lse || some.lse.same_bits(all.lse)) << subset;
      EXPECT_TRUE(!weights || some.weights.same_bits(all.weights)) << subset;
    }
  }
}

TYPED_TEST(OutputSets, MayAllBeAbsent) {
  const auto none = this->run({false, false, false}, {});
  EXPECT_EQ(none.out.unwritten(), element_count(none.out.shape()));
}

TYPED_TEST(OutputSets, WeightsOfChosenRowsAreThoseOfAllRows) {
  const std::vector<std::int64_t> rows = {40, 0, 7, 7, 39, 1};
  Options options;
  options.causal = Causal::bottom_right;
  const auto all = this->run({true, true, true}, options);
  options.rows = rows;
  for (const bool with_main : {false, true}) {
    const auto chosen = this->run({with_main, with_main, true}, options);
    EXPECT_EQ(chosen.weights.unwritten(), 0);
    EXPECT_TRUE(chosen.weights.canaries_intact());
    for_each_index(chosen.weights.shape(), [&](std::int64_t b, std::int64_t h, std::int64_t r,
                                               std::int64_t j) {
      EXPECT_EQ(chosen.weights.at(b, h, r, j), all.weights.at(b, h, rows[std::size_t(r)], j));
    });
    EXPECT_TRUE(!with_main || chosen.out.same_bits(all.out));
    EXPECT_TRUE(!with_main || chosen.lse.same_bits(all.lse));
  }
}

TYPED_TEST(OutputSets, RowsAloneAskForNothing) {
  const std::int64_t rows[] = {3};
  Options options;
  options.rows = rows;
  const auto plain = this->run({true, true, false}, {});
  const auto chosen = this->run({true, true, false}, options);
  EXPECT_TRUE(chosen.out.same_bits(plain.out) && chosen.lse.same_bits(plain.lse));
}

}  // namespace
}  // namespace regard::test
