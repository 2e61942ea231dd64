// One call of `forward` and its result, to be compared bit by bit with that of another run.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>

#include "regard/attention.h"
#include "support/inputs.h"

namespace regard::test {

/// LSE and weights of halves are f32.
template <class T>
struct Result {
  using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;

  TestTensor<T> out;
  TestTensor<Compute> lse, weights;
  Status status;

  bool same_bits(const Result& other) const {
    return status.ok() && other.status.ok() && out.same_bits(other.out) &&
           lse.same_bits(other.lse) && weights.same_bits(other.weights);
  }
  bool untouched() const {
    return out.unwritten() == element_count(out.shape()) &&
           lse.unwritten() == element_count(lse.shape()) &&
           weights.unwritten() == element_count(weights.shape());
  }
};

/// Enough work for five threads: 5 million multiply-adds in at least six items.
inline constexpr ProblemShape kShared{2, 3, 1, 101, 131, 40, 24};
/// One item.
inline constexpr ProblemShape kTiny{1, 1, 1, 2, 3, 4, 5};

template <class T>
struct Job {
  Inputs<T> in;
  ProblemShape shape;
  Options options;

  explicit Job(std::uint64_t seed, const ProblemShape& of = kShared)
      : in(random_inputs<T>(of, seed)), shape(of) {
    options.causal = seed % 2 == 0 ? Causal::bottom_right : Causal::none;
  }

  Result<T> run(const Context& context) const {
    Shape weights = shape.weights();
    if (!options.rows.empty()) weights[2] = std::int64_t(options.rows.size());
    using Compute = typename Result<T>::Compute;
    Result<T> result{TestTensor<T>(shape.out()),
                     TestTensor<Compute>(shape.lse()),
                     TestTensor<Compute>(weights),
                     {}};
    result.status =
        forward(context, in.q.view(), in.k.view(), in.v.view(),
                {result.out.tensor(), result.lse.tensor(), result.weights.tensor()}, options);
    return result;
  }

  /// How `run` would be served.
  Explanation plan(const Context& context) const {
    TestTensor<T> out(shape.out());
    Explanation explanation;
    const Status status =
        explain(context, in.q.view(), in.k.view(), in.v.view(),
                {.out = out.tensor(), .lse = {}, .weights = {}}, options, explanation);
    EXPECT_TRUE(status.ok()) << status.message();
    return explanation;
  }
};

}  // namespace regard::test
