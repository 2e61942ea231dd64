// The C interface: what storing K and V in fewer bits does.
#include <algorithm>
#include <vector>

#include "api/c_kv.h"
#include "regard/kv_report.h"

namespace regard::api {
namespace {

regard_kv_row_report to_c(const KvRowReport& row) noexcept {
  return {row.b,           row.h,           row.i,         row.visible,
          row.out_error,   row.logit_shift, row.logit_key, row.entropy_change,
          row.weight_moved};
}

regard_kv_worst to_c(const KvWorst& worst) noexcept {
  return {worst.value, worst.b, worst.h, worst.i};
}

regard_kv_summary to_c(const KvSummary& summary) noexcept {
  return {.b = summary.b,
          .h = summary.h,
          .rows = summary.rows,
          .rows_empty = summary.rows_empty,
          .rows_undefined = summary.rows_undefined,
          .rms_out_error = summary.rms_out_error,
          .mean_entropy_change = summary.mean_entropy_change,
          .out_error = to_c(summary.out_error),
          .logit_shift = to_c(summary.logit_shift),
          .weight_moved = to_c(summary.weight_moved),
          .entropy_change = to_c(summary.entropy_change)};
}

/// A report on its way: what was asked of C, and what was found.
struct Call {
  const Options* options = nullptr;
  regard_kv_report_settings given = {};
  KvReportSettings settings;
  KvReport found;
};

Status to_call(const regard_inputs* inputs, const regard_options* options,
               const regard_kv_report_settings* settings, const regard_kv_report* report,
               Call& call) {
  Status status = check_inputs(inputs);
  if (status.ok()) status = to_options(options, call.options);
  if (status.ok()) status = check_struct(size_of<regard_kv_report>("report"), report);
  if (status.ok() && settings) {
    status = load_struct(size_of<regard_kv_report_settings>("settings"), settings, &call.given);
  }
  const regard_kv_report_settings& given = call.given;
  if (status.ok()) status = check_array("row_reports", given.row_reports, given.row_room);
  if (status.ok()) status = check_array("heads", given.heads, given.head_room);
  if (!status.ok()) return status;
  call.settings.rows = given.rows;
  call.settings.seed = given.seed;
  if (given.progress) {
    call.settings.progress = [progress = given.progress, user = given.user](auto done, auto total) {
      return progress(user, done, total) == 0;
    };
  }
  return {};
}

/// As many as there is room for.
template <class From, class To>
void write(const std::vector<From>& from, To* to, std::int64_t room) {
  const std::int64_t count = std::min(room, std::int64_t(from.size()));
  std::transform(from.begin(), from.begin() + count, to, [](const From& x) { return to_c(x); });
}

void store(const Call& call, regard_kv_report* report) {
  const regard_kv_report to = {.struct_size = report->struct_size,
                               .row_count = std::int64_t(call.found.rows.size()),
                               .head_count = std::int64_t(call.found.heads.size()),
                               .all = to_c(call.found.all)};
  write(call.found.rows, call.given.row_reports, call.given.row_room);
  write(call.found.heads, call.given.heads, call.given.head_room);
  store_struct(size_of<regard_kv_report>("report"), &to, report);
}

}  // namespace
}  // namespace regard::api

using namespace regard::api;  // NOLINT(google-build-using-namespace)
using regard::Status;

regard_code regard_report_kv(const regard_inputs* inputs, regard_kv_type k_type,
                             regard_kv_type v_type, const regard_options* options,
                             const regard_kv_report_settings* settings, regard_kv_report* report,
                             regard_status* status) {
  return guarded_answer(status, [&] {
    Call call;
    regard::KvTypes types;
    Status result = to_call(inputs, options, settings, report, call);
    if (result.ok()) result = to_kv_type("k_type", k_type, types.k);
    if (result.ok()) result = to_kv_type("v_type", v_type, types.v);
    if (!result.ok()) return result;
    result = regard::report_kv(to_tensor(inputs->q), to_tensor(inputs->k), to_tensor(inputs->v),
                               types, *call.options, call.settings, call.found);
    if (result.ok()) store(call, report);
    return result;
  });
}

regard_code regard_report_kv_cache(const regard_inputs* inputs,
                                   const regard_kv_sequences* sequences,
                                   const regard_options* options,
                                   const regard_kv_report_settings* settings,
                                   regard_kv_report* report, regard_status* status) {
  return guarded_answer(status, [&] {
    Call call;
    std::span<const std::int64_t> numbers;
    Status result = check_sequences(sequences);
    if (result.ok()) result = to_call(inputs, options, settings, report, call);
    if (result.ok()) result = to_span("sequences", sequences->numbers, sequences->count, numbers);
    if (!result.ok()) return result;
    result = regard::report_kv(to_tensor(inputs->q), to_tensor(inputs->k), to_tensor(inputs->v),
                               sequences->cache->cache, numbers, *call.options, call.settings,
                               call.found);
    if (result.ok()) store(call, report);
    return result;
  });
}

regard_code regard_report_kv_view(const regard_inputs* inputs, const regard_kv_view* view,
                                  const regard_options* options,
                                  const regard_kv_report_settings* settings,
                                  regard_kv_report* report, regard_status* status) {
  return guarded_answer(status, [&] {
    Call call;
    regard::KvView cached;
    Status result = to_call(inputs, options, settings, report, call);
    if (result.ok()) result = to_view(view, cached);
    if (!result.ok()) return result;
    result = regard::report_kv(to_tensor(inputs->q), to_tensor(inputs->k), to_tensor(inputs->v),
                               cached, *call.options, call.settings, call.found);
    if (result.ok()) store(call, report);
    return result;
  });
}
