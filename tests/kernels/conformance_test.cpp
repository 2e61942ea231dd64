// The conformance cases through the engine, in both element types.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/engine.h"
#include "support/cases.h"

namespace regard::test {
namespace {

/// Values agree to 64 epsilons of the largest magnitude: the cases are small (at most 12 keys and
/// D = 59), and their scores, up to 20000, are sums of exact products.
template <class T>
void expect_close(const TestTensor<double>& expected, const TestTensor<T>& actual) {
  ASSERT_EQ(expected.shape(), actual.shape());
  double largest = 1;
  for_each_index(expected.shape(), [&](auto b, auto h, auto s, auto d) {
    const double value = std::abs(expected.at(b, h, s, d));
    if (std::isfinite(value)) largest = std::max(largest, value);
  });
  const double allowed = 64 * largest * double(std::numeric_limits<T>::epsilon());
  for_each_index(expected.shape(), [&](auto b, auto h, auto s, auto d) {
    const double want = expected.at(b, h, s, d);
    const double got = double(actual.at(b, h, s, d));
    if (std::isinf(want)) {
      EXPECT_EQ(want, got);
    } else if (std::isnan(want)) {
      EXPECT_FALSE(std::isfinite(got));
    } else {
      EXPECT_NEAR(want, got, allowed) << b << ' ' << h << ' ' << s << ' ' << d;
    }
  });
}

template <class T>
void run_case(const Case& c) {
  const Inputs<T> in{c.q.copy<T>(), c.k.copy<T>(), c.v.copy<T>()};
  const Options options = c.options();
  const Result<T> result = run_forward(in, options);
  if (c.out) expect_close(*c.out, result.out);
  if (c.lse) expect_close(*c.lse, result.lse);
  if (!c.weights) return;
  TestTensor<T> weights(c.weights->shape());
  const Status status = forward(one_thread(), in.q.view(), in.k.view(), in.v.view(),
                                {.out = {}, .lse = {}, .weights = weights.tensor()}, options);
  ASSERT_TRUE(status.ok()) << status.message();
  expect_close(*c.weights, weights);
}

TEST(Conformance, EveryCaseGivesTheRightAnswers) {
  for (const Case& c : load_cases()) {
    SCOPED_TRACE(c.name);
    run_case<float>(c);
    run_case<double>(c);
  }
}

}  // namespace
}  // namespace regard::test
