// Runs the engine on test tensors and holds its results against the oracle.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <type_traits>

#include "regard/attention.h"
#include "regard/check.h"
#include "support/inputs.h"

namespace regard::test {

inline const Context& one_thread() {
  static const Context context(1);
  return context;
}

/// The options on the path that this run of the tests is about: REGARD_TEST_PATH=tiles takes bf16
/// there, on an emulated unit where the ISA has none; =decode takes everything there; else direct
/// does. A path that the test itself asks for is kept.
template <class T>
Options on_test_path(Options options) {
  if (options.path != Path::automatic) return options;
  const char* path = std::getenv("REGARD_TEST_PATH");
  if (std::is_same_v<T, BF16> && path && std::string_view(path) == "tiles") {
    options.path = Path::tiles;
  } else if (path && std::string_view(path) == "decode") {
    options.path = Path::decode;
  } else {
    options.path = Path::direct;
  }
  return options;
}

/// Type of the LSE, weights and stats of inputs of type T.
template <class T>
using ComputeType = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T, class Out = T>
struct Result {
  TestTensor<Out> out;
  TestTensor<ComputeType<T>> lse;
};

template <class T, class Out = T>
Result<T, Out> run_forward(const Inputs<T>& in, const Options& asked,
                           const Context& context = one_thread(), Layout layout = Layout::bhsd) {
  const Options options = on_test_path<T>(asked);
  const Shape& q = in.q.shape();
  Result<T, Out> result{TestTensor<Out>({q[0], q[1], q[2], in.v.shape()[3]}, layout),
                        TestTensor<ComputeType<T>>({q[0], q[1], q[2], 1}, layout)};
  const Outputs outputs{.out = result.out.tensor(), .lse = result.lse.tensor(), .weights = {}};
  const Status status = forward(context, in.q.view(), in.k.view(), in.v.view(), outputs, options);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(result.out.canaries_intact());
  EXPECT_TRUE(result.lse.canaries_intact());
  EXPECT_EQ(result.out.unwritten(), 0);
  EXPECT_EQ(result.lse.unwritten(), 0);
  return result;
}

/// Out of a call that asks for nothing else.
template <class T, class Out = T>
TestTensor<Out> run_out(const Inputs<T>& in, const Options& options) {
  const Shape& q = in.q.shape();
  TestTensor<Out> out({q[0], q[1], q[2], in.v.shape()[3]});
  Outputs outputs;
  outputs.out = out.tensor();
  const Status status = forward(one_thread(), in.q.view(), in.k.view(), in.v.view(), outputs,
                                on_test_path<T>(options));
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(out.unwritten(), 0);
  return out;
}

/// Every row of out and lse within the bound of docs/numerics.md (`rows` sampled rows, 0: all).
template <class T, class Out>
testing::AssertionResult matches_oracle(const Inputs<T>& in, const Options& options,
                                        const Result<T, Out>& result, std::int64_t rows = 0) {
  CheckSettings settings;
  settings.rows = rows;
  CheckReport report;
  const Status status = check(in.q.view(), in.k.view(), in.v.view(), on_test_path<T>(options),
                              result.out.view(), result.lse.view(), settings, report);
  if (!status.ok()) return testing::AssertionFailure() << status.message();
  if (report.passed) return testing::AssertionSuccess();
  auto failure = testing::AssertionFailure();
  failure << report.rows_failed << " of " << report.rows_checked << " rows";
  for (const RowVerdict& row : report.worst) {
    failure << "\nb=" << row.b << " h=" << row.h << " i=" << row.i << " d=" << row.d << " expected "
            << row.expected << " got " << row.actual << ", " << row.units << " bounds off";
  }
  return failure;
}

}  // namespace regard::test
