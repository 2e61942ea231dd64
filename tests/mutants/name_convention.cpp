// name_convention CONVENTION...: for each, asks this build for a problem on which a kernel of that
// convention is wrong, and prints the convention that the checker names: "right" where the result
// passes. The engine may be a mutant; the oracle and the checker are not touched by any.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "regard/attention.h"
#include "regard/check.h"
#include "support/inputs.h"

namespace regard::test {
namespace {

constexpr ProblemShape kShape{2, 2, 3, 7, 13, 16, 8};
// Sees its largest score in the first tile of keys, where an engine takes its reference.
constexpr ProblemShape kOneTile{2, 2, 3, 7, 3, 16, 8};

/// Options under which a kernel of the convention is wrong, and their memory.
struct Question {
  ProblemShape shape = kShape;
  Options options;
  const std::vector<std::int64_t> offsets = {2, 5}, lengths = {9, 13};
  const TestTensor<double> bias = normal_tensor<double>({1, 6, 7, 13}, 21);
  const TestTensor<double> slopes = uniform_tensor<double>({1, 6, 1, 1}, 22, 0.1, 0.9);
  const TestTensor<double> sinks = normal_tensor<double>({1, 6, 1, 1}, 23);
  std::vector<unsigned char> mask;

  explicit Question(std::string_view convention) {
    const std::string_view subject = convention.substr(0, convention.find('='));
    if (convention == "lse=unscaled_max") shape = kOneTile;
    if (subject == "causal" || subject == "q_offset") options.causal = Causal::top_left;
    if (convention == "causal=top_left") options.causal = Causal::bottom_right;
    if (subject == "q_offset") options.q_offset = offsets;
    if (convention == "alignment=padded") options.causal = Causal::bottom_right;
    const bool window = subject.starts_with("window") || convention == "alignment=bottom_right";
    if (window) options.window = {3, 1};
    if (subject == "kv_len" || convention == "alignment=padded") options.kv_len = lengths;
    if (subject == "softcap") options.softcap = 0.75;
    if (subject == "softcap" || subject == "bias") options.bias = bias.view();
    if (subject == "alibi") options.alibi_slopes = slopes.view();
    if (subject == "sinks" || convention == "lse=without_sink") options.sinks = sinks.view();
    if (subject == "mask") use_mask({1, 1, shape.sq, shape.skv}, 3);
    if (subject == "empty") use_mask({1, 1, shape.sq, 1}, 2);
  }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  /// Every period-th place is false.
  void use_mask(const Shape& size, std::int64_t period) {
    for (std::int64_t n = 0; n < element_count(size); ++n) mask.push_back(n % period != 0);
    options.mask = {mask.data(), DType::boolean, size, dense_strides(size)};
  }
};

Status name_convention(std::string_view asked, std::string& name) {
  const Question question(asked);
  const auto in = random_inputs<float>(question.shape, 20);
  TestTensor<float> out(question.shape.out()), lse(question.shape.lse());
  const Outputs outputs{.out = out.tensor(), .lse = lse.tensor()};
  const ConstTensor q = in.q.view(), k = in.k.view(), v = in.v.view();
  Status status = forward(Context(1), q, k, v, outputs, question.options);
  if (!status.ok()) return status;
  CheckReport report;
  status = check(q, k, v, question.options, out.view(), lse.view(), {}, report);
  name = report.passed ? "right" : report.convention.name;
  return status;
}

}  // namespace
}  // namespace regard::test

int main(int argc, char** argv) {
  for (int n = 1; n < argc; ++n) {
    std::string name;
    const regard::Status status = regard::test::name_convention(argv[n], name);
    if (!status.ok()) {
      std::fprintf(stderr, "%s: %s\n", argv[n], status.message().c_str());
      return 2;
    }
    std::printf("%s\n", name.c_str());
  }
}
