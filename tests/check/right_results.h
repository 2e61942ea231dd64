// Right results of random calls in the arithmetic of their type: none of them may be accused.
#pragma once

#include <cmath>
#include <random>
#include <type_traits>

#include "check/judged.h"
#include "regard/half.h"
#include "support/loops.h"
#include "support/random_options.h"

namespace regard::test {

template <class T>
T narrowed(float x) {
  if constexpr (std::is_same_v<T, F16>) return to_f16(x);
  if constexpr (std::is_same_v<T, BF16>) return to_bf16(x);
  if constexpr (std::is_floating_point_v<T>) return T(x);
}
template <class T>
T narrowed(double x) {
  if constexpr (std::is_same_v<T, double>) return x;
  if constexpr (!std::is_same_v<T, double>) return narrowed<T>(float(x));
}

/// Dense memory in T, and the same values in another type.
template <class T>
struct Narrow {
  std::vector<T> values;
  Shape shape{};

  template <class U>
  explicit Narrow(const TestTensor<U>& from) : shape(from.shape()) {
    for_each_index(shape, [&](auto b, auto h, auto s, auto d) {
      values.push_back(narrowed<T>(from.at(b, h, s, d)));
    });
  }
  ConstTensor view() const { return regard::view(static_cast<const T*>(values.data()), shape); }

  template <class C>
  TestTensor<C> widened() const {
    TestTensor<C> result(shape);
    std::size_t n = 0;
    for_each_index(shape, [&](auto b, auto h, auto s, auto d) {
      const T x = values[n++];
      if constexpr (std::is_floating_point_v<T>) {
        result.at(b, h, s, d) = C(x);
      } else {
        result.at(b, h, s, d) = C(to_float(x));
      }
    });
    return result;
  }
};

inline ProblemShape random_shape(std::mt19937_64& engine) {
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine);
  };
  return {pick(1, 2), pick(1, 2), pick(1, 3), pick(1, 9), pick(1, 60), pick(1, 70), pick(1, 9)};
}

/// Large negative biases, as many write where they mean to hide.
inline void add_large_numbers(RandomOptions& random, std::mt19937_64& engine) {
  if (random.options.bias.data == nullptr) return;
  const float large[] = {-1e4F, -1e9F, -3.4028234663852886e38F};
  const double chosen = double(large[engine() % 3]);
  const bool everywhere = engine() % 4 == 0;
  for_each_index(random.bias.shape(), [&](auto b, auto h, auto i, auto j) {
    if (everywhere || engine() % 3 == 0) random.bias.at(b, h, i, j) = chosen;
  });
}

/// Judges `rows` rows or more of calls in T, computed by plain loops in C.
template <class T, class C>
void expect_never_accused(std::int64_t rows, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::int64_t judged = 0;
  double worst = 0;
  while (judged < rows) {
    const std::uint64_t call = engine();
    SCOPED_TRACE(testing::Message() << "call " << call);
    const ProblemShape shape = random_shape(engine);
    const auto exact = random_inputs<double>(shape, call % 100000);
    const Narrow<T> q(exact.q), k(exact.k), v(exact.v);
    RandomOptions random(shape, call);
    if (call % 2 == 0) add_large_numbers(random, engine);
    const Loops<C> loops(shape, random.options);
    const auto result = run_loops(loops, Inputs<C>{q.template widened<C>(), k.template widened<C>(),
                                                   v.template widened<C>()});
    const Narrow<T> out(result.out);
    CheckReport report;
    const Status status = check(q.view(), k.view(), v.view(), random.options, out.view(),
                                result.lse.view(), {}, report);
    ASSERT_TRUE(status.ok()) << status.message();
    if (!report.passed) {
      const RowVerdict& row = report.worst.front();
      FAIL() << shape << "\nb=" << row.b << " h=" << row.h << " i=" << row.i << " d=" << row.d
             << " expected " << row.expected << " got " << row.actual << ", " << row.units
             << " bounds off";
    }
    worst = std::max(worst, report.worst_units);
    judged += report.rows_checked;
  }
  testing::Test::RecordProperty("worst_units", std::to_string(worst));
}

}  // namespace regard::test
