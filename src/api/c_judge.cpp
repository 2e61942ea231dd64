// The C interface: merge and check.
#include <algorithm>
#include <vector>

#include "api/c_types.h"
#include "regard/check.h"
#include "regard/merge.h"

namespace regard::api {
namespace {

Status to_parts(const regard_part* from, std::int64_t count, std::vector<Part>& parts) {
  if (count < 0) {
    return base::invalid("parts: the count is " + std::to_string(count) + ", below 0");
  }
  if (!from && count > 0) return null_pointer("parts");
  parts.reserve(std::size_t(count));
  for (std::int64_t n = 0; n < count; ++n) {
    parts.push_back({to_tensor(from[n].out), to_tensor(from[n].lse)});
  }
  return {};
}

Status to_settings(const regard_check_settings& from, CheckSettings& settings) {
  if (from.worst_count < 0) {
    return base::invalid("worst_count: " + std::to_string(from.worst_count) + " is below 0");
  }
  settings.rows = from.rows;
  settings.seed = from.seed;
  settings.find_convention = from.skip_convention == 0;
  settings.worst_rows = from.worst ? from.worst_count : 0;
  settings.weights = to_tensor(from.weights);
  if (from.progress) {
    settings.progress = [progress = from.progress, user = from.user](auto done, auto total) {
      return progress(user, done, total) == 0;
    };
  }
  return {};
}

static_assert(REGARD_JUDGED_OUT == int(RowVerdict::What::out) &&
              REGARD_JUDGED_LSE == int(RowVerdict::What::lse) &&
              REGARD_JUDGED_WEIGHTS == int(RowVerdict::What::weights));

regard_row_verdict to_c(const RowVerdict& row) noexcept {
  return {row.b,      row.h,     row.i,     row.d,     row.expected,
          row.actual, row.error, row.bound, row.units, regard_judged(row.what)};
}

void store(const CheckReport& from, regard_row_verdict* worst, regard_check_report* report) {
  regard_check_report to = {
      .struct_size = report->struct_size,
      .passed = from.passed ? 1 : 0,
      .rows_checked = from.rows_checked,
      .rows_failed = from.rows_failed,
      .worst_count = worst ? std::int64_t(from.worst.size()) : 0,
      .worst_units = from.worst_units,
      .rms_error = from.rms_error,
      .convention = {},
      .convention_sentence = {},
      .convention_rows = from.convention.rows_fitted,
  };
  copy_text(from.convention.name, to.convention, sizeof to.convention);
  copy_text(from.convention.sentence, to.convention_sentence, sizeof to.convention_sentence);
  if (worst) std::ranges::transform(from.worst, worst, to_c);
  store_struct(size_of<regard_check_report>("report"), &to, report);
}

}  // namespace
}  // namespace regard::api

using namespace regard::api;  // NOLINT(google-build-using-namespace)
using regard::Status;

regard_code regard_merge(const regard_part* parts, int64_t count, const regard_tensor* sinks,
                         const regard_tensor* out, const regard_tensor* lse,
                         regard_status* status) {
  return guarded_answer(status, [&] {
    std::vector<regard::Part> views;
    if (Status bad = to_parts(parts, count, views); !bad.ok()) return bad;
    return regard::merge(views, to_tensor(sinks), to_tensor(out), to_tensor(lse));
  });
}

double regard_lse_to_base2(double natural) {
  return regard::lse_to_base2(natural);
}

double regard_lse_from_base2(double base2) {
  return regard::lse_from_base2(base2);
}

regard_code regard_check(const regard_inputs* inputs, const regard_options* options,
                         const regard_tensor* out, const regard_tensor* lse,
                         const regard_check_settings* settings, regard_check_report* report,
                         regard_status* status) {
  return guarded_answer(status, [&] {
    const regard::Options* meaning = nullptr;
    regard_check_settings given = {};
    regard::CheckSettings wanted;
    regard::CheckReport found;
    Status result = check_inputs(inputs);
    if (result.ok()) result = to_options(options, meaning);
    if (result.ok() && !out) result = null_pointer("out");
    if (result.ok()) result = check_struct(size_of<regard_check_report>("report"), report);
    if (result.ok() && settings) {
      result = load_struct(size_of<regard_check_settings>("settings"), settings, &given);
    }
    if (result.ok()) result = to_settings(given, wanted);
    if (!result.ok()) return result;
    result = regard::check(to_tensor(inputs->q), to_tensor(inputs->k), to_tensor(inputs->v),
                           *meaning, to_tensor(out), to_tensor(lse), wanted, found);
    if (result.ok()) store(found, given.worst, report);
    return result;
  });
}
