// Random problems against the oracle: shapes, strides, groups, alignments, offsets and scales
// together. RC_PARAMS="max_success=N" sets the number of cases.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <optional>
#include <vector>

#include "kernels/engine.h"

namespace regard::test {
namespace {

struct RandomProblem {
  ProblemShape shape;
  Layout input, output;
  Causal causal;
  std::vector<std::int64_t> q_offset;
  std::optional<double> scale;
  double deviation;
  std::uint64_t seed;
};

std::int64_t draw_length() {
  return *rc::gen::weightedOneOf<std::int64_t>(
      {{4, rc::gen::inRange<std::int64_t>(0, 70)}, {1, rc::gen::inRange<std::int64_t>(150, 420)}});
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
  p.causal = *rc::gen::element(Causal::none, Causal::top_left, Causal::bottom_right);
  const auto offsets = *rc::gen::element(std::int64_t{0}, std::int64_t{1}, p.shape.batch);
  p.q_offset = *rc::gen::container<std::vector<std::int64_t>>(
      std::size_t(offsets), rc::gen::inRange<std::int64_t>(-80, 400));
  if (*rc::gen::inRange(0, 3) == 0) p.scale = *rc::gen::inRange(-20, 20) / 10.0;
  p.deviation = *rc::gen::element(1.0, 1.0, 0.01, 8.0, 40.0);
  p.seed = *rc::gen::arbitrary<std::uint32_t>();
  return p;
}

template <class T>
testing::AssertionResult holds(const RandomProblem& p) {
  auto in = random_inputs<T>(p.shape, p.seed, p.input);
  in.q = normal_tensor<T>(p.shape.q(), p.seed, p.input, p.deviation);
  Options options;
  options.causal = p.causal;
  options.q_offset = p.q_offset;
  options.scale = p.scale;
  return matches_oracle(in, options, run_forward(in, options, one_thread(), p.output), 25);
}

RC_GTEST_PROP(Random, F32, ()) {
  const testing::AssertionResult result = holds<float>(draw());
  if (!result) RC_FAIL(result.message());
}

RC_GTEST_PROP(Random, F64, ()) {
  const testing::AssertionResult result = holds<double>(draw());
  if (!result) RC_FAIL(result.message());
}

}  // namespace
}  // namespace regard::test
