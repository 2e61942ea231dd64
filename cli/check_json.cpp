#include "check_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "command.h"

namespace regard::cli {
namespace {

using Json = nlohmann::ordered_json;

Json number(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

Json convention(const Convention& found) {
  if (found.name.empty()) return nullptr;
  return {{"name", found.name}, {"sentence", found.sentence}, {"rows_fitted", found.rows_fitted}};
}

const char* what(RowVerdict::What what) {
  constexpr const char* names[] = {"out", "lse", "weights"};
  return names[int(what)];
}

Json coefficients(const ErrorBound& bound) {
  const ScoreError& score = bound.score;
  return {{"unit", bound.unit},
          {"floor", bound.floor},
          {"weight_rounding", bound.weight_rounding},
          {"weight_floor", bound.weight_floor},
          {"result_unit", bound.result_unit},
          {"result_floor", bound.result_floor},
          {"constant", score.constant},
          {"magnitude", score.magnitude},
          {"score", score.score},
          {"flushed", score.flushed},
          {"capped", score.capped},
          {"alibi", score.alibi},
          {"bias", score.bias},
          {"sum", score.sum},
          {"distance", score.distance},
          {"lag", score.lag},
          {"sink", score.sink}};
}

/// The sizes behind the bound of one value, computed once more.
Json terms(const RowVerdict& verdict, const Oracle& oracle, const ErrorBound& bound) {
  OracleRow row;
  require(oracle.row(verdict.b, verdict.h, verdict.i, row, bound.score));
  Json result = {{"visible", row.visible},
                 {"largest_score", number(row.largest)},
                 {"spread", number(row.spread)},
                 {"weight_error", number(row.weight_error)}};
  if (verdict.what != RowVerdict::What::out) return result;
  const auto d = std::size_t(verdict.d);
  result["out_magnitude"] = number(row.out_magnitude[d]);
  result["out_error"] = number(row.out_error[d]);
  result["value_sum"] = number(row.value_sum[d]);
  return result;
}

Json worst_of(const KvWorst& worst) {
  return {{"value", number(worst.value)}, {"b", worst.b}, {"h", worst.h}, {"i", worst.i}};
}

Json summary_of(const KvSummary& summary) {
  return {{"b", summary.b},
          {"h", summary.h},
          {"rows", summary.rows},
          {"rows_empty", summary.rows_empty},
          {"rows_undefined", summary.rows_undefined},
          {"rms_out_error", number(summary.rms_out_error)},
          {"mean_entropy_change", number(summary.mean_entropy_change)},
          {"out_error", worst_of(summary.out_error)},
          {"logit_shift", worst_of(summary.logit_shift)},
          {"entropy_change", worst_of(summary.entropy_change)},
          {"weight_moved", worst_of(summary.weight_moved)}};
}

Json row_of(const KvRowReport& row) {
  return {{"b", row.b},
          {"h", row.h},
          {"i", row.i},
          {"visible", row.visible},
          {"out_error", number(row.out_error)},
          {"logit_shift", number(row.logit_shift)},
          {"logit_key", row.logit_key},
          {"entropy_change", number(row.entropy_change)},
          {"weight_moved", number(row.weight_moved)}};
}

}  // namespace

std::string json_text(const std::vector<KvFindings>& findings, std::int64_t given_bytes) {
  Json reports = Json::array();
  for (const KvFindings& found : findings) {
    Json heads = Json::array(), worst = Json::array();
    for (const KvSummary& head : found.report.heads) heads.push_back(summary_of(head));
    for (const KvRowReport& row : found.worst) worst.push_back(row_of(row));
    reports.push_back({{"k_type", kv_type_name(found.types.k)},
                       {"v_type", kv_type_name(found.types.v)},
                       {"bytes", found.bytes},
                       {"all", summary_of(found.report.all)},
                       {"heads", heads},
                       {"worst_rows", worst}});
  }
  return Json{{"given_bytes", given_bytes}, {"reports", reports}}.dump(2);
}

std::string json_text(const CheckReport& report, const Judged& judged) {
  const Inputs& in = judged.inputs;
  const ErrorBound bound = error_bound(in.q.dtype, judged.result, in.q.shape[3], judged.options);
  Oracle oracle;
  require(oracle.prepare(in.q, in.k, in.v, judged.options));
  Json worst = Json::array();
  for (const RowVerdict& row : report.worst) {
    worst.push_back({{"b", row.b},
                     {"h", row.h},
                     {"i", row.i},
                     {"what", what(row.what)},
                     {"d", row.d},
                     {"expected", number(row.expected)},
                     {"actual", number(row.actual)},
                     {"error", number(row.error)},
                     {"bound", number(row.bound)},
                     {"units", number(row.units)},
                     {"terms", terms(row, oracle, bound)}});
  }
  const Json json = {{"passed", report.passed},
                     {"rows", judged.rows_in_all},
                     {"rows_checked", report.rows_checked},
                     {"rows_failed", report.rows_failed},
                     {"worst_units", number(report.worst_units)},
                     {"rms_error", number(report.rms_error)},
                     {"convention", convention(report.convention)},
                     {"bound", coefficients(bound)},
                     {"worst_rows", worst}};
  return json.dump(2);
}

}  // namespace regard::cli
