#include "regard/check.h"

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/guard.h"
#include "base/status_text.h"
#include "check/judge.h"
#include "check/search.h"
#include "problem/tensors.h"

namespace regard {
namespace {

using judging::Evidence;
using judging::Judge;
using judging::Reservoir;
using judging::Setting;
using judging::stopped;

/// Keys visited between two calls of the progress hook: some tenths of a second at D = 128.
constexpr std::int64_t kKeysBetweenReports = std::int64_t{1} << 20;

/// Rows of (B, Hq, Sq) counted in this order. A sample takes one row from each of equal stretches,
/// so no row comes twice and every batch entry and head gets its share.
class Sample {
 public:
  Sample(std::int64_t total, std::int64_t wanted, std::uint64_t seed)
      : total_(total), count_(wanted == 0 ? total : std::min(wanted, total)), engine_(seed) {}

  std::int64_t count() const { return count_; }

  /// Row of stretch n; ask for n = 0, 1, ... in order.
  std::int64_t pick(std::int64_t n) {
    const std::int64_t length = total_ / count_, longer = total_ % count_;
    const std::int64_t start = n * length + std::min(n, longer);
    std::uniform_int_distribution<std::int64_t> within(0, length - (n < longer ? 0 : 1));
    return start + within(engine_);
  }

 private:
  std::int64_t total_, count_;
  std::mt19937_64 engine_;
};

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
  const std::pair<const char*, std::int64_t> counts[] = {{"rows", settings.rows},
                                                         {"worst_rows", settings.worst_rows}};
  for (const auto& [name, count] : counts) {
    if (count < 0)
      return base::invalid(std::string(name) + ": " + std::to_string(count) + " is below 0");
  }
  return {};
}

/// The rows of a check and what becomes of them.
class Rows {
 public:
  Rows(const Shape& out_shape, std::int64_t keys, const CheckSettings& settings)
      : heads_(out_shape[1]),
        rows_(out_shape[2]),
        interval_(std::max<std::int64_t>(1, kKeysBetweenReports / (keys + 1))),
        settings_(settings),
        sample_(out_shape[0] * heads_ * rows_, settings.rows, settings.seed),
        evidence_{Reservoir(settings.seed), Reservoir(settings.seed)} {}

  Status judge(Judge& judge, CheckReport& report) {
    for (std::int64_t n = 0; n < sample_.count(); ++n) {
      if (n % interval_ == 0 && !go_on(n)) return stopped();
      const std::int64_t index = sample_.pick(n);
      const std::int64_t head = index / rows_;
      RowVerdict verdict;
      Status status = judge.judge(head / heads_, head % heads_, index % rows_, verdict);
      if (!status.ok()) return status;
      enter(verdict, settings_.worst_rows, report);
      (verdict.units > 1 ? evidence_.failed : evidence_.passed).show(verdict);
    }
    return go_on(sample_.count()) ? Status() : stopped();
  }

  Status name_convention(const Setting& asked, CheckReport& report) {
    return judging::find_convention(
        asked, evidence_, [this] { return go_on(sample_.count()); }, report.convention);
  }

 private:
  bool go_on(std::int64_t done) const {
    return !settings_.progress || settings_.progress(done, sample_.count());
  }

  std::int64_t heads_, rows_, interval_;
  const CheckSettings& settings_;
  Sample sample_;
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
