// regard._core.report_kv: what storing K and V in fewer bits does. Reports are tuples and lists
// here; the Python package makes classes of them.
#include <nanobind/stl/string.h>

#include <cstdint>
#include <vector>

#include "cache.h"
#include "call.h"
#include "judge.h"
#include "keywords.h"
#include "options.h"
#include "regard/kv_report.h"

namespace regard::python {
namespace {

nb::tuple to_python(const KvWorst& worst) {
  return nb::make_tuple(worst.value, worst.b, worst.h, worst.i);
}

nb::tuple to_python(const KvSummary& of) {
  return nb::make_tuple(of.b, of.h, of.rows, of.rows_empty, of.rows_undefined, of.rms_out_error,
                        of.mean_entropy_change, to_python(of.out_error), to_python(of.logit_shift),
                        to_python(of.entropy_change), to_python(of.weight_moved));
}

nb::tuple to_python(const KvRowReport& row) {
  return nb::make_tuple(row.b, row.h, row.i, row.visible, row.out_error, row.logit_shift,
                        row.logit_key, row.entropy_change, row.weight_moved);
}

nb::tuple to_python(const KvReport& report) {
  nb::list rows, heads;
  for (const KvRowReport& row : report.rows) rows.append(to_python(row));
  for (const KvSummary& head : report.heads) heads.append(to_python(head));
  return nb::make_tuple(rows, heads, to_python(report.all));
}

/// `stored` is (k_type, v_type) or (cache, sequences); `sample` is (rows, seed).
nb::tuple report_stored(nb::handle q, nb::handle k, nb::handle v, const nb::tuple& stored,
                        const nb::tuple& sample, const nb::dict& options) {
  const Question asked({"report_kv", kQkv, {}}, {q, k, v}, options);
  const Inputs& in = asked.in;
  KvReportSettings settings{.rows = nb::cast<std::int64_t>(sample[0]),
                            .seed = nb::cast<std::uint64_t>(sample[1])};
  const Cache* cache = nullptr;
  std::vector<std::int64_t> sequences;
  KvTypes types;
  if (nb::isinstance<Cache>(stored[0])) {
    cache = nb::cast<const Cache*>(stored[0]);
    sequences = integers(Name::sequences, stored[1]);
  } else {
    types = {to_kv_type("types", stored[0]), to_kv_type("types", stored[1])};
  }
  KvReport report;
  run_engine([&](const std::function<bool()>& cancel) {
    settings.progress = [&cancel](std::int64_t, std::int64_t) { return !cancel(); };
    if (!cache) return report_kv(in.q, in.k, in.v, types, asked.values.options, settings, report);
    return cache->read_released([&](const KvCache& held) {
      return report_kv(in.q, in.k, in.v, held, sequences, asked.values.options, settings, report);
    });
  });
  return to_python(report);
}

}  // namespace

void add_report(nb::module_& module) {
  module.def("report_kv", report_stored, nb::arg("q").none(), nb::arg("k").none(),
             nb::arg("v").none(), nb::arg("stored"), nb::arg("sample"), nb::arg("options"));
}

}  // namespace regard::python
