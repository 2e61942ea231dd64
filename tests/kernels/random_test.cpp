// Random problems against the oracle: shapes, strides, groups, element types and every combination
// of options together. RC_PARAMS="max_success=N" sets the number of cases.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <vector>

#include "kernels/engine.h"
#include "support/random_options.h"

namespace regard::test {
namespace {

struct RandomProblem {
  ProblemShape shape;
  Layout input, output;
  double deviation;
  bool has_options;
  std::uint64_t seed;
};

std::int64_t draw_length() {
  return *rc::gen::weightedOneOf<std::int64_t>(
      {{4, rc::gen::inRange<std::int64_t>(0, 70)}, {1, rc::gen::inRange<std::int64_t>(150, 620)}});
}

RandomProblem draw() {
  RandomProblem p;
  p.shape = {.batch = *rc::gen::inRange<std::int64_t>(1, 3),
             .kv_heads = *rc::gen::inRange<std::int64_t>(1, 3),
             .group = *rc::gen::elementOf(std::vector<std::int64_t>{1, 1, 2, 3, 8}),
             .sq = draw_length(),
             .skv = draw_length(),
             .d = *rc::gen::inRange<std::int64_t>(1, 70),
             .dv = *rc::gen::inRange<std::int64_t>(1, 70)};
  p.input = *rc::gen::elementOf(std::to_array(kInputLayouts));
  p.output = *rc::gen::elementOf(std::to_array(kOutputLayouts));
  p.deviation = *rc::gen::element(1.0, 1.0, 0.01, 8.0, 40.0);
  p.has_options = *rc::gen::inRange(0, 5) != 0;
  p.seed = *rc::gen::arbitrary<std::uint32_t>();
  return p;
}

template <class T, class Out>
testing::AssertionResult holds(const RandomProblem& p) {
  auto in = random_inputs<T>(p.shape, p.seed, p.input);
  in.q = normal_tensor<T>(p.shape.q(), p.seed, p.input, p.deviation);
  const RandomOptions random(p.shape, p.seed);
  Options options = p.has_options ? random.options : Options{};
  auto result = run_forward<T, Out>(in, options, one_thread(), p.output);
  if (p.seed % 2 == 0) result.out = run_out<T, Out>(in, options);
  auto verdict = matches_oracle(in, options, result, 25);
  if (!verdict) verdict << "\n" << p.shape << " seed " << p.seed;
  return verdict;
}

template <class T, class Out = T>
void check_random() {
  const testing::AssertionResult result = holds<T, Out>(draw());
  if (!result) RC_FAIL(result.message());
}

RC_GTEST_PROP(Random, F32, ()) {
  check_random<float>();
}
RC_GTEST_PROP(Random, F64, ()) {
  check_random<double>();
}
RC_GTEST_PROP(Random, F16, ()) {
  check_random<F16>();
}
RC_GTEST_PROP(Random, BF16, ()) {
  check_random<BF16>();
}
RC_GTEST_PROP(Random, WideOutputsOfHalfInputs, ()) {
  check_random<BF16, float>();
}
RC_GTEST_PROP(Random, HalfOutputsOfWideInputs, ()) {
  check_random<double, F16>();
}

}  // namespace
}  // namespace regard::test
