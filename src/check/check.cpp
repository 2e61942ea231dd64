#include "regard/check.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "base/guard.h"
#include "check/judge.h"
#include "check/search.h"
#include "check/walk.h"
#include "problem/tensors.h"

namespace regard {
namespace {

using judging::Evidence;
using judging::Judge;
using judging::require_count;
using judging::Reservoir;
using judging::Setting;
using judging::Walk;

void keep_worst(std::int64_t worst_rows, std::vector<RowVerdict>& worst) {
  std::ranges::stable_sort(worst, std::greater(), &RowVerdict::units);
  if (std::int64_t(worst.size()) > worst_rows) worst.resize(std::size_t(worst_rows));
}

/// Leaves more rows in `worst` than are wanted, sorted now and then: `keep_worst` ends it.
void enter(const RowVerdict& verdict, std::int64_t worst_rows, CheckReport& report) {
  constexpr std::int64_t kFew = 512;
  ++report.rows_checked;
  if (verdict.units > 1) ++report.rows_failed;
  report.worst_units = std::max(report.worst_units, verdict.units);
  report.worst.push_back(verdict);
  const auto half = std::int64_t(report.worst.size() / 2);
  if (half > std::max(worst_rows, kFew)) keep_worst(worst_rows, report.worst);
}

Status require_sound(const Shape& out_shape, const Setting& asked, const CheckSettings& settings) {
  const auto [batch, heads, rows, dv] = out_shape;
  const auto chosen = std::int64_t(asked.options.rows.size());
  Status status = problem::check_result("out", asked.out, out_shape);
  if (status.ok() && asked.lse.data != nullptr)
    status = problem::check_result("lse", asked.lse, {batch, heads, rows, 1});
  if (status.ok() && asked.weights.data != nullptr) {
    const Shape shape{batch, heads, chosen == 0 ? rows : chosen, asked.k.shape[2]};
    status = problem::check_result("weights", asked.weights, shape);
  }
  if (!status.ok()) return status;
  status = require_count("rows", settings.rows);
  return status.ok() ? require_count("worst_rows", settings.worst_rows) : status;
}

/// The rows of a check and what becomes of them.
class Rows {
 public:
  Rows(const Shape& out_shape, std::int64_t keys, const CheckSettings& settings)
      : settings_(settings),
        walk_(out_shape, keys, {settings.rows, settings.seed, settings.progress}),
        evidence_{Reservoir(settings.seed), Reservoir(settings.seed)} {}

  Status judge(Judge& judge, CheckReport& report) {
    return walk_.each([&](std::int64_t b, std::int64_t h, std::int64_t i) {
      RowVerdict verdict;
      Status status = judge.judge(b, h, i, verdict);
      if (!status.ok()) return status;
      enter(verdict, settings_.worst_rows, report);
      (verdict.units > 1 ? evidence_.failed : evidence_.passed).show(verdict);
      return status;
    });
  }

  Status name_convention(const Setting& asked, CheckReport& report) {
    return judging::find_convention(
        asked, evidence_, [this] { return walk_.go_on(walk_.count()); }, report.convention);
  }

 private:
  const CheckSettings& settings_;
  Walk walk_;
  Evidence evidence_;
};

}  // namespace

Status check(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
             const Options& options, const ConstTensor& out, const ConstTensor& lse,
             const CheckSettings& settings, CheckReport& report) noexcept {
  return base::guarded([&]() -> Status {
    const Setting asked{q, k, v, options, {}, out, lse, settings.weights};
    Judge judge;
    if (Status status = judge.prepare(asked); !status.ok()) return status;
    const Shape& shape = judge.out_shape();
    if (Status status = require_sound(shape, asked, settings); !status.ok()) return status;

    report = {};
    Rows rows(shape, k.shape[2], settings);
    Status status = rows.judge(judge, report);
    keep_worst(settings.worst_rows, report.worst);
    if (!status.ok()) return status;
    report.rms_error = judge.rms_error();
    report.passed = report.rows_failed == 0;
    if (report.passed || !settings.find_convention) return {};
    return rows.name_convention(asked, report);
  });
}

}  // namespace regard
