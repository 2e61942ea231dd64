// regard._core.check and oracle_attention. What they find comes as tuples; the Python package makes
// classes of them.
#include "judge.h"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>
#include <vector>

#include "call.h"
#include "keywords.h"
#include "options.h"
#include "raise.h"
#include "regard/check.h"
#include "regard/oracle.h"
#include "single_arrays.h"

namespace regard::python {
namespace {

constexpr Name kOfCheck[] = {Name::rows, Name::weights_stage};
constexpr Name kOfOracle[] = {Name::rows, Name::return_lse, Name::return_weights,
                              Name::weights_stage};

nb::tuple to_python(const RowVerdict& row) {
  constexpr const char* names[] = {"out", "lse", "weights"};
  return nb::make_tuple(names[int(row.what)], row.b, row.h, row.i, row.d, row.expected, row.actual,
                        row.error, row.bound, row.units);
}

nb::tuple to_python(const CheckReport& report, std::int64_t rows) {
  nb::list worst;
  for (const RowVerdict& row : report.worst) worst.append(to_python(row));
  const Convention& found = report.convention;
  nb::object convention = nb::none();
  if (!found.name.empty()) {
    convention = nb::make_tuple(found.name, found.sentence, found.rows_fitted);
  }
  return nb::make_tuple(report.passed, rows, report.rows_checked, report.rows_failed,
                        report.worst_units, report.rms_error, worst, convention);
}

/// `results` are out, LSE and weights, the last two or None; `sample` is (rows, seed, worst_rows,
/// find_convention).
nb::tuple check_results(nb::handle q, nb::handle k, nb::handle v, const nb::tuple& results,
                        const nb::tuple& sample, const nb::dict& options) {
  const Question asked({"check", kQkv, kOfCheck}, {q, k, v}, options);
  const Inputs& in = asked.in;
  Array out_array, lse_array, weights_array;
  const Tensor out = take_out("out", results[0], in.rank(), in.layout, out_array);
  Tensor lse;
  if (!results[1].is_none()) lse = take_lse("lse", results[1], in.rank(), lse_array);
  CheckSettings settings;
  settings.rows = nb::cast<std::int64_t>(sample[0]);
  settings.seed = nb::cast<std::uint64_t>(sample[1]);
  settings.worst_rows = nb::cast<std::int64_t>(sample[2]);
  settings.find_convention = nb::cast<bool>(sample[3]);
  if (!results[2].is_none()) {
    settings.weights = take_weights(results[2], in.rank(), weights_array);
  }
  CheckReport report;
  run_engine([&](const std::function<bool()>& cancel) {
    settings.progress = [&cancel](std::int64_t, std::int64_t) { return !cancel(); };
    return check(in.q, in.k, in.v, asked.values.options, out, lse, settings, report);
  });
  return to_python(report, out.shape[0] * out.shape[1] * out.shape[2]);
}

/// An f64 result of the oracle. Torch gets tensors, all others NumPy arrays.
struct Answer {
  Array array;
  nb::object object = nb::none();
  Tensor view;

  void make(const Inputs& in, const char* name, const Shape& shape, std::span<const int> axes) {
    const Kind kind = in.q_array.kind() == Kind::torch ? Kind::torch : Kind::numpy;
    object = array.make(name, kind, shape, axes, DType::f64);
    view = array.view(axes);
  }

  void put(std::int64_t b, std::int64_t h, std::int64_t r, std::span<const double> numbers) const {
    double* at = static_cast<double*>(view.data) + b * view.strides[0] + h * view.strides[1] +
                 r * view.strides[2];
    for (const double x : numbers) {
      *at = x;
      at += view.strides[3];
    }
  }
};

struct Answers {
  Answer out, lse, weights;
};

Status fill(const Oracle& oracle, std::span<const std::int64_t> rows, const Answers& answers,
            const Stage stage, const std::function<bool()>& cancel) {
  const Shape& shape = oracle.out_shape();
  OracleRow row;
  for (std::int64_t n = 0; n < shape[0] * shape[1] * std::int64_t(rows.size()); ++n) {
    if (cancel()) return {StatusCode::cancelled, "stopped"};
    const auto r = n % std::int64_t(rows.size()), head = n / std::int64_t(rows.size());
    const std::int64_t b = head / shape[1], h = head % shape[1];
    Status status = oracle.row(b, h, rows[std::size_t(r)], row);
    if (!status.ok()) return status;
    answers.out.put(b, h, r, row.out);
    if (answers.lse.view.data) answers.lse.put(b, h, r, {&row.lse, 1});
    if (answers.weights.view.data) {
      answers.weights.put(b, h, r, stage == Stage::softmax ? row.weights : row.scores);
    }
  }
  return {};
}

nb::tuple oracle_attention(nb::handle q, nb::handle k, nb::handle v, const nb::dict& options) {
  Question asked({"oracle.attention", kQkv, kOfOracle}, {q, k, v}, options);
  const Inputs& in = asked.in;
  const Arguments& given = *asked.keywords;
  Oracle oracle;
  require(oracle.prepare(in.q, in.k, in.v, asked.values.options));
  const Shape& shape = oracle.out_shape();
  std::vector<std::int64_t> rows = asked.values.rows;
  if (!given.has(Name::rows)) {
    for (std::int64_t i = 0; i < shape[2]; ++i) rows.push_back(i);
  }
  const auto chosen = std::int64_t(rows.size());
  Answers answers;
  answers.out.make(in, "out", {shape[0], shape[1], chosen, shape[3]},
                   tensor_axes(in.rank(), in.layout));
  if (truth(Name::return_lse, given[Name::return_lse])) {
    answers.lse.make(in, "lse", {shape[0], shape[1], chosen, 1}, lse_axes(in.rank()));
  }
  if (truth(Name::return_weights, given[Name::return_weights])) {
    answers.weights.make(in, "weights", {shape[0], shape[1], chosen, in.k.shape[2]},
                         tensor_axes(in.rank(), Layout::bhsd));
  }
  run_engine([&](const std::function<bool()>& cancel) {
    return fill(oracle, rows, answers, asked.values.options.weights_stage, cancel);
  });
  return nb::make_tuple(answers.out.object, answers.lse.object, answers.weights.object);
}

}  // namespace

void add_judge(nb::module_& module) {
  module.def("check", check_results, nb::arg("q").none(), nb::arg("k").none(), nb::arg("v").none(),
             nb::arg("results"), nb::arg("sample"), nb::arg("options"));
  module.def("oracle_attention", oracle_attention, nb::arg("q").none(), nb::arg("k").none(),
             nb::arg("v").none(), nb::arg("options"));
}

}  // namespace regard::python
