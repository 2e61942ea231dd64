#include "check_kv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "check_json.h"
#include "command.h"
#include "flags.h"
#include "interrupt.h"
#include "kv_types.h"
#include "progress_bar.h"

namespace regard::cli {
namespace {

KvReport report_of(const KvQuestion& asked, const KvTypes& types) {
  KvReport report;
  const Cancellable cancellable;
  ProgressBar bar;  // goes first, so that its line is clean when the program ends
  const KvReportSettings settings{.rows = asked.rows,
                                  .seed = asked.seed,
                                  .progress = [&](std::int64_t done, std::int64_t total) {
                                    bar.show(done, total);
                                    return !stop_requested();
                                  }};
  const Inputs& in = asked.inputs;
  require(report_kv(in.q, in.k, in.v, types, asked.options, settings, report));
  return report;
}

/// Largest errors of out first; without rows that have none.
std::vector<KvRowReport> worst_rows(const KvReport& report, std::int64_t count) {
  std::vector<KvRowReport> rows;
  std::ranges::copy_if(report.rows, std::back_inserter(rows), [](const KvRowReport& row) {
    return row.visible > 0 && !std::isnan(row.out_error);
  });
  std::ranges::stable_sort(rows, std::greater(), &KvRowReport::out_error);
  rows.resize(std::min(rows.size(), std::size_t(count)));
  return rows;
}

std::int64_t stored_bytes(const Inputs& in, const KvTypes& types) {
  return kv_token_bytes(types, in.k.shape[3], in.v.shape[3]);
}

std::int64_t given_bytes(const Inputs& in) {
  return in.k.shape[3] * element_bytes(in.k.dtype) + in.v.shape[3] * element_bytes(in.v.dtype);
}

void print_left_out(const KvSummary& all) {
  if (all.rows_empty > 0) fmt::print("{} rows see no key and are left out\n", all.rows_empty);
  if (all.rows_undefined > 0) {
    fmt::print("{} rows are not finite before storing and are left out\n", all.rows_undefined);
  }
}

/// All heads together have no row to name by its number alone.
void print_summary(const KvSummary& of) {
  const bool all = of.h < 0;
  const auto row = [&](const KvWorst& worst) {
    return all ? "" : worst.i < 0 ? "-" : std::to_string(worst.i);
  };
  fmt::print(
      "{:>4} {:>4} {:>6} {:>9.3g} {:>9.3g} {:>5} {:>9.3g} {:>5} {:>9.2g} {:>9.2g} {:>5} {:>9.3g} "
      "{:>5}\n",
      all ? "all" : std::to_string(of.b), all ? "" : std::to_string(of.h), of.rows,
      of.rms_out_error, of.out_error.value, row(of.out_error), of.logit_shift.value,
      row(of.logit_shift), of.mean_entropy_change, of.entropy_change.value, row(of.entropy_change),
      of.weight_moved.value, row(of.weight_moved));
}

void print_worst(const std::vector<KvRowReport>& rows) {
  if (rows.empty()) return;
  fmt::print("\nworst rows\n{:>4} {:>4} {:>6} {:>6} {:>9} {:>9} {:>6} {:>10} {:>9}\n", "b", "h",
             "i", "keys", "out", "logit", "of key", "entropy", "moved");
  for (const KvRowReport& row : rows) {
    fmt::print("{:>4} {:>4} {:>6} {:>6} {:>9.3g} {:>9.3g} {:>6} {:>10.2g} {:>9.3g}\n", row.b, row.h,
               row.i, row.visible, row.out_error, row.logit_shift, row.logit_key,
               row.entropy_change, row.weight_moved);
  }
}

void print_report(const KvQuestion& asked, const KvTypes& types, const KvReport& report) {
  fmt::print("K {}, V {}: {} bytes a token and KV head, as given {}\n", kv_type_name(types.k),
             kv_type_name(types.v), stored_bytes(asked.inputs, types), given_bytes(asked.inputs));
  print_left_out(report.all);
  fmt::print("\n{:>42}{:>16}{:>26}{:>16}\n", "relative error of out", "logit shift",
             "entropy change, nats", "weight moved");
  fmt::print("{:>4} {:>4} {:>6} {:>9} {:>9} {:>5} {:>9} {:>5} {:>9} {:>9} {:>5} {:>9} {:>5}\n", "b",
             "h", "rows", "rms", "largest", "row", "largest", "row", "mean", "largest", "row",
             "largest", "row");
  for (const KvSummary& head : report.heads) print_summary(head);
  if (report.heads.size() > 1) print_summary(report.all);
  print_worst(worst_rows(report, asked.worst_rows));
}

void print_comparison(const KvQuestion& asked, const std::vector<KvReport>& reports) {
  fmt::print("K and V as given: {} bytes a token and KV head; {} rows\n", given_bytes(asked.inputs),
             reports.front().all.rows);
  print_left_out(reports.front().all);
  fmt::print("\n{:>29} {:>21} {:>12} {:>23} {:>13}\n", "", "relative error of out", "logit shift",
             "entropy change, nats", "weight moved");
  fmt::print("{:>10} {:>10} {:>7} {:>10} {:>10} {:>12} {:>12} {:>10} {:>13}\n", "K", "V", "bytes",
             "rms", "largest", "largest", "mean", "largest", "largest");
  for (std::size_t n = 0; n < reports.size(); ++n) {
    const KvSummary& all = reports[n].all;
    fmt::print("{:>10} {:>10} {:>7} {:>10.3g} {:>10.3g} {:>12.3g} {:>12.2g} {:>10.2g} {:>13.3g}\n",
               kv_type_name(asked.types[n].k), kv_type_name(asked.types[n].v),
               stored_bytes(asked.inputs, asked.types[n]), all.rms_out_error, all.out_error.value,
               all.logit_shift.value, all.mean_entropy_change, all.entropy_change.value,
               all.weight_moved.value);
  }
}

}  // namespace

void add_kv_flag(CLI::App& app, std::vector<KvTypes>& types) {
  add_each_value(app,
                 {"--kv", "TYPE,...",
                  "instead of --out: what a cache of this type would do, or of K_TYPE/V_TYPE; " +
                      list_kv_types()},
                 [&types](const std::string& text) {
                   const std::vector<KvTypes> more = parse_kv_types("--kv", text);
                   types.insert(types.end(), more.begin(), more.end());
                 });
}

void report_kv_types(const KvQuestion& asked, bool json) {
  std::vector<KvReport> reports;
  for (const KvTypes& types : asked.types) reports.push_back(report_of(asked, types));
  if (json) {
    std::vector<KvFindings> findings;
    for (std::size_t n = 0; n < reports.size(); ++n) {
      findings.push_back({asked.types[n], stored_bytes(asked.inputs, asked.types[n]), reports[n],
                          worst_rows(reports[n], asked.worst_rows)});
    }
    fmt::print("{}\n", json_text(findings, given_bytes(asked.inputs)));
  } else if (reports.size() == 1) {
    print_report(asked, asked.types.front(), reports.front());
  } else {
    print_comparison(asked, reports);
  }
}

}  // namespace regard::cli
