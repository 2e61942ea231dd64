// The conformance cases through the engine, in every element type that holds their inputs.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/engine.h"
#include "support/cases.h"

namespace regard::test {
namespace {

/// The distance from 1 to the next number of T.
template <class T>
constexpr double epsilon_of() {
  if constexpr (std::is_floating_point_v<T>) return double(std::numeric_limits<T>::epsilon());
  return std::is_same_v<T, F16> ? 0x1p-10 : 0x1p-7;
}

/// Values agree to `epsilons` of the largest magnitude. 64 for what is computed: the cases are
/// small (at most 12 keys and D = 59), and their scores, up to 20000, are sums of exact products. 1
/// more epsilon of a coarser result for its rounding.
template <class T>
void expect_close(const TestTensor<double>& expected, const TestTensor<T>& actual,
                  double computed_epsilon) {
  ASSERT_EQ(expected.shape(), actual.shape());
  double largest = 1;
  for_each_index(expected.shape(), [&](auto b, auto h, auto s, auto d) {
    const double value = std::abs(expected.at(b, h, s, d));
    if (std::isfinite(value)) largest = std::max(largest, value);
  });
  const double allowed = largest * (64 * computed_epsilon + epsilon_of<T>());
  for_each_index(expected.shape(), [&](auto b, auto h, auto s, auto d) {
    const double want = expected.at(b, h, s, d);
    const double got = converted<double>(actual.at(b, h, s, d));
    if (std::isinf(want)) {
      EXPECT_EQ(want, got);
    } else if (std::isnan(want)) {
      EXPECT_FALSE(std::isfinite(got));
    } else {
      EXPECT_NEAR(want, got, allowed) << b << ' ' << h << ' ' << s << ' ' << d;
    }
  });
}

/// T holds every number of `tensor`.
template <class T>
bool holds(const TestTensor<double>& tensor) {
  bool exact = true;
  for_each_index(tensor.shape(), [&](auto b, auto h, auto s, auto d) {
    const double x = tensor.at(b, h, s, d);
    const double back = converted<double>(converted<T>(x));
    exact = exact && (back == x || (std::isnan(x) && std::isnan(back)));
  });
  return exact;
}

/// False where T does not hold the inputs.
template <class T>
bool run_case(const Case& c) {
  if (!holds<T>(c.q) || !holds<T>(c.k) || !holds<T>(c.v)) return false;
  const Inputs<T> in{c.q.copy<T>(), c.k.copy<T>(), c.v.copy<T>()};
  const Options options = on_test_path<T>(c.options());
  const auto result = run_forward(in, options);
  const double epsilon = epsilon_of<ComputeType<T>>();
  if (c.out) expect_close(*c.out, result.out, epsilon);
  if (c.lse) expect_close(*c.lse, result.lse, epsilon);
  if (!c.weights) return true;
  TestTensor<ComputeType<T>> weights(c.weights->shape());
  const Status status = forward(one_thread(), in.q.view(), in.k.view(), in.v.view(),
                                {.out = {}, .lse = {}, .weights = weights.tensor()}, options);
  EXPECT_TRUE(status.ok()) << status.message();
  expect_close(*c.weights, weights, epsilon);
  return true;
}

template <class T>
int run_cases() {
  int run = 0;
  for (const Case& c : load_cases()) {
    SCOPED_TRACE(c.name);
    run += run_case<T>(c);
  }
  return run;
}

TEST(Conformance, EveryCaseGivesTheRightAnswers) {
  const int all = int(load_cases().size());
  EXPECT_EQ(run_cases<double>(), all);
  EXPECT_EQ(run_cases<float>(), all);
  // Scores of 20000 take inputs such as 100.125, which 8 bits of significand do not hold.
  EXPECT_EQ(run_cases<F16>(), all);
  EXPECT_EQ(run_cases<BF16>(), all - 2);
}

}  // namespace
}  // namespace regard::test
