// The causal lab: inputs, the table of weights, and what is claimed about them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine.h"
#include "lab.h"
#include "regard/lab.h"
#include "shipped.h"
#include "text.h"

namespace regard::cli {
namespace {

using lab::CausalInput;
using lab::CausalResult;
using lab::Matrix;

/// Everything the lab is about; what --save writes.
struct State {
  CausalInput input, wide;
  Matrix x_edited;
  CausalResult result, edited;
};

Matrix to_matrix(const io::Array& array) {
  return {array.shape.at(0), array.shape.at(1), values_of(array)};
}

bool is_shipped(const CausalLab& lab) {
  return !lab.seed && !lab.tokens && !lab.d_model && !lab.d_head;
}

void load_shipped(const std::vector<io::NamedArray>& arrays, State& state) {
  const auto matrix = [&](const char* name) { return to_matrix(array_named(arrays, name)); };
  state.input = {matrix("x"), matrix("wq"), matrix("wk"), matrix("wv")};
  state.wide = {matrix("xb"), matrix("wq_b"), matrix("wk_b"), matrix("wv_b")};
  state.x_edited = matrix("x_edited");
}

/// The third fact keeps the sizes it is stated for: 32 tokens, d_model 64, d_head 256.
void make_random(const CausalLab& lab, State& state) {
  const auto seed = std::uint64_t(lab.seed.value_or(0));
  require(lab::random_input(seed, lab.tokens.value_or(6), lab.d_model.value_or(16),
                            lab.d_head.value_or(8), state.input));
  require(lab::random_input(seed + 1, 32, 64, 256, state.wide));
  state.x_edited = lab::edit_last_token(state.input.x);
}

void compute(bool scale, State& state) {
  const CausalInput& in = state.input;
  require(lab::causal_attention(in, scale, state.result));
  require(lab::causal_attention({state.x_edited, in.wq, in.wk, in.wv}, scale, state.edited));
}

/// A number as NumPy prints it in a table of three decimals: zeros at the end become spaces.
std::string cell(double weight) {
  std::string text = fmt::format("{:.3f}", weight);
  for (std::size_t n = text.size(); text[n - 1] == '0'; --n) text[n - 1] = ' ';
  return text;
}

void print_weights(const Matrix& weights) {
  constexpr std::int64_t kWidest = 16;
  if (weights.rows > kWidest) {
    fmt::print("weights: {0} x {0}, too many to print; --save keeps them\n", weights.rows);
    return;
  }
  fmt::print("weights: row i is what token i reads\n");
  for (std::int64_t r = 0; r < weights.rows; ++r) {
    std::vector<std::string> cells;
    for (std::int64_t c = 0; c < weights.cols; ++c) cells.push_back(cell(weights.at(r, c)));
    fmt::print("{}[{}]{}\n", r == 0 ? "[" : " ", fmt::join(cells, " "),
               r + 1 == weights.rows ? "]" : "");
  }
}

void claim_facts(const State& state, bool scale, Report& report) {
  CausalInput input = state.input;
  if (!scale) {
    // The facts are checked with 1/sqrt(d_head); this takes it out again.
    for (double& w : input.wq.values) w *= std::sqrt(double(input.wq.cols));
  }
  lab::Facts facts;
  require(lab::check_facts(input, state.x_edited, state.wide, facts));
  report.claim(
      facts.rows_are_averages, "every row of weights is a weighted average",
      fmt::format("row sums differ from 1 by at most {}; the smallest weight is {}",
                  small_text(facts.largest_row_sum_error), small_text(facts.smallest_weight)));
  report.claim(facts.future_does_not_leak, "editing the last token changes only the last output",
               fmt::format("outputs before it change by {}, the last one by {:.2f}",
                           small_text(facts.largest_earlier_change), facts.last_change));
  report.claim(facts.scale_keeps_softmax_soft,
               fmt::format("without 1/sqrt(d_head) the softmax saturates ({} tokens, d_head {})",
                           state.wide.x.rows, state.wide.wq.cols),
               fmt::format("entropy of the last row, with it and without: {:.2f} and {:.2f} of "
                           "{:.2f}",
                           facts.entropy_scaled, facts.entropy_unscaled, facts.entropy_uniform));
}

void claim_recorded(const std::vector<io::NamedArray>& arrays, const State& state, Report& report) {
  constexpr double kAllowed = 1e-12;
  const auto difference = [&](const char* name, const Matrix& matrix) {
    return largest_difference(to_matrix(array_named(arrays, name)).values, matrix.values);
  };
  const double out = difference("out", state.result.out);
  const double edited = difference("out_edited", state.edited.out);
  const double weights = difference("weights", state.result.weights);
  report.claim(std::max({out, edited, weights}) <= kAllowed, "equal to what NumPy recorded",
               fmt::format("largest difference: out {}, weights {}, out after the edit {}",
                           small_text(out), small_text(weights), small_text(edited)));
}

void claim_engine(const State& state, bool scale, Report& report) {
  const CausalResult& r = state.result;
  const Shape shape = {1, 1, r.q.rows, r.q.cols};
  const Problem problem{shape, shape, shape, r.q.values, r.k.values, r.v.values};
  Options options;
  options.causal = Causal::top_left;
  if (!scale) options.scale = 1;
  const EngineResult f64 = run_engine(DType::f64, problem, options);
  const EngineResult f32 = run_engine(DType::f32, problem, options);
  const std::vector<double>& out = r.out.values;
  const double weights = largest_difference(f64.weights, r.weights.values);
  report.claim(f64.check.passed && f32.check.passed, "the engine agrees (causal top_left)",
               fmt::format("f64 differs by {} in out, {} in weights; f32 errs by {:.2f} of its "
                           "bound",
                           in_ulp(largest_difference(f64.out, out), out), small_text(weights),
                           f32.check.worst_units));
}

io::NamedArray named(const char* name, const Matrix& m) {
  io::Array array{DType::f64, {m.rows, m.cols}, {m.cols, 1}, nullptr, nullptr};
  array.data = reinterpret_cast<const std::byte*>(m.values.data());
  return {name, array};
}

void save(const State& s, const std::string& path) {
  const std::vector<io::NamedArray> arrays = {named("x", s.input.x),
                                              named("wq", s.input.wq),
                                              named("wk", s.input.wk),
                                              named("wv", s.input.wv),
                                              named("q", s.result.q),
                                              named("k", s.result.k),
                                              named("v", s.result.v),
                                              named("out", s.result.out),
                                              named("weights", s.result.weights),
                                              named("x_edited", s.x_edited),
                                              named("out_edited", s.edited.out),
                                              named("xb", s.wide.x),
                                              named("wq_b", s.wide.wq),
                                              named("wk_b", s.wide.wk),
                                              named("wv_b", s.wide.wv)};
  require(io::write_npz(path, arrays));
  fmt::print("\n{}: {} arrays\n", path, arrays.size());
}

}  // namespace

void show_causal_lab(const CausalLab& lab, Report& report) {
  const bool shipped = is_shipped(lab);
  std::vector<io::NamedArray> recorded;
  State state;
  if (shipped) {
    recorded = shipped_arrays(Shipped::lab);
    load_shipped(recorded, state);
  } else {
    make_random(lab, state);
  }
  compute(lab.scale, state);
  fmt::print("causal self-attention: {} tokens, d_model {}, d_head {}, {}{}\n", state.input.x.rows,
             state.input.x.cols, state.input.wq.cols,
             shipped ? "shipped input" : fmt::format("seed {}", lab.seed.value_or(0)),
             lab.scale ? "" : ", without 1/sqrt(d_head)");
  fmt::print("\n");
  print_weights(state.result.weights);
  fmt::print("\n");
  claim_facts(state, lab.scale, report);
  if (shipped && lab.scale) claim_recorded(recorded, state, report);
  claim_engine(state, lab.scale, report);
  if (!lab.save.empty()) save(state, lab.save);
}

}  // namespace regard::cli
