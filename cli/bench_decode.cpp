// The rows of `bench decode`: what is measured, the table and the JSON.
#include "bench_decode.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "command.h"
#include "decode_speed.h"
#include "kv_types.h"
#include "regard/machine.h"
#include "regard/version.h"
#include "report.h"
#include "text.h"

namespace regard::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kGiga = 1e9;

std::string pages_text(std::int64_t page_tokens) {
  return page_tokens == 0 ? "contiguous" : std::to_string(page_tokens);
}

Json json_of(const DecodeWorkload& workload) {
  return {{"kv", kv_types_text(workload.types)},
          {"q_dtype", dtype_name(workload.q_dtype)},
          {"rows", workload.rows},
          {"kv_heads", workload.kv_heads},
          {"keys", workload.keys},
          {"head_size", workload.head_size},
          {"page_tokens", workload.page_tokens},
          {"threads", workload.threads}};
}

/// A row of the table, and what the JSON holds of it.
struct Row {
  Json json;
  std::vector<std::string> cells;  ///< from the left; without a right answer, its name alone
  double worst_units = 0;
  bool right = false;

  void take_verdict(bool is_right, double units) {
    right = is_right;
    worst_units = units;
    json["right"] = right;
    json["worst_units"] = std::isfinite(units) ? Json(units) : Json("inf");
  }
  void add_times(const std::string& name, const TurnTimes& times) {
    json[name + "least_seconds"] = times.least;
    json[name + "median_seconds"] = times.median;
    json[name + "worst_seconds"] = times.worst;
  }
  void add_cells(const std::vector<std::string>& more) {
    cells.insert(cells.end(), more.begin(), more.end());
  }
};

struct Column {
  const char* head;
  int width;
};
using Columns = std::vector<Column>;
const Columns kAlone = {{"kv", 16},     {"q", 6},      {"rows", 6},   {"page", 12},
                        {"threads", 9}, {"memory", 8}, {"least", 10}, {"spread", 9},
                        {"GB/s", 8},    {"read", 8},   {"share", 8}};
const Columns kTogether = {{"kv", 16},    {"q", 6},       {"rows", 6},
                           {"page", 12},  {"threads", 9}, {"together", 11},
                           {"spread", 9}, {"apart", 11},  {"gain", 7}};

const Columns& columns_of(const DecodeFlags& flags) {
  return flags.prefix ? kTogether : kAlone;
}

/// The first stands on the left of its column, the others on the right.
void print_cells(const Columns& columns, const std::vector<std::string>& cells) {
  fmt::print("{:<{}}", cells.front(), columns.front().width);
  for (std::size_t n = 1; n < cells.size(); ++n) {
    fmt::print("{:>{}}", cells[n], columns[n].width);
  }
}

void print_row(const DecodeFlags& flags, const Row& row) {
  print_cells(columns_of(flags), row.cells);
  if (!row.right) fmt::print("WRONG: an error of {:.3g} times its bound", row.worst_units);
  fmt::print("\n");
  std::fflush(stdout);  // a row may take seconds
}

Row named_row(const DecodeWorkload& w) {
  return {.json = json_of(w),
          .cells = {kv_types_text(w.types), dtype_name(w.q_dtype), std::to_string(w.rows),
                    pages_text(w.page_tokens), std::to_string(w.threads)}};
}

std::string percent_text(double share) {
  return fmt::format("{:.1f}%", 100 * share);
}

std::string rate_text(double rate) {
  return fmt::format("{:.1f}", rate / kGiga);
}

Row alone_row(const DecodeWorkload& workload, int repeats) {
  const DecodeSpeed speed = measure_decode(workload, repeats);
  Row row = named_row(workload);
  row.json["memory"] = memory_name(workload.memory);
  row.json["layers"] = speed.layers;
  row.json["bytes"] = speed.bytes;
  row.cells.emplace_back(memory_name(workload.memory));
  row.take_verdict(speed.right, speed.worst_units);
  if (!row.right) return row;
  row.add_times("", speed.decode);
  row.add_times("read_", speed.read);
  row.json["spread"] = speed.decode.spread();
  row.json["gigabytes_per_second"] = speed.rate() / kGiga;
  row.json["read_gigabytes_per_second"] = speed.read_rate() / kGiga;
  row.json["share"] = speed.share();
  row.add_cells({time_text(speed.decode.least), percent_text(speed.decode.spread()),
                 rate_text(speed.rate()), rate_text(speed.read_rate()),
                 percent_text(speed.share())});
  return row;
}

Row together_row(const SharedWorkload& workload, int repeats) {
  const SharedSpeed speed = measure_shared(workload, repeats);
  Row row = named_row(workload.each);
  row.json["prefix"] = workload.prefix;
  row.json["sequences"] = workload.sequences;
  row.take_verdict(speed.right, speed.worst_units);
  if (!row.right) return row;
  row.add_times("", speed.together);
  row.add_times("apart_", speed.apart);
  row.json["spread"] = speed.together.spread();
  row.json["gain"] = speed.gain();
  row.add_cells({time_text(speed.together.least), percent_text(speed.together.spread()),
                 time_text(speed.apart.least), fmt::format("{:.2f}", speed.gain())});
  return row;
}

void print_head(const MachineInfo& machine, const DecodeFlags& flags, const DecodeWorkload& first,
                int repeats) {
  fmt::print("{}, {}, {} KV heads, {} keys, head size {}, the least of {} turns\n", machine.cpu,
             machine.isa, first.kv_heads, first.keys, first.head_size, repeats);
  if (flags.prefix) {
    fmt::print("{} sequences, the first {} tokens shared\n", flags.sequences.value_or(8),
               *flags.prefix);
  }
  fmt::print("\n");
  std::vector<std::string> heads;
  for (const Column& column : columns_of(flags)) heads.emplace_back(column.head);
  print_cells(columns_of(flags), heads);
  fmt::print("\n");
}

}  // namespace

int bench_decode(const DecodeFlags& flags, const std::vector<std::int64_t>& threads, int repeats,
                 JsonFile* json) {
  if (flags.sequences && !flags.prefix) throw Error("--sequences: it belongs to --prefix");
  if (flags.prefix && !flags.memory.empty()) throw Error("--memory: --prefix has one of its own");
  const std::vector<DecodeWorkload> grid = grid_of(flags, threads);
  MachineInfo machine;
  require(describe_machine(machine));
  const bool table = !json || !json->is_stdout();
  if (table) print_head(machine, flags, grid.front(), repeats);
  Json rows = Json::array();
  Report report;
  for (const DecodeWorkload& workload : grid) {
    const Row row = flags.prefix ? together_row(shared_of(flags, workload), repeats)
                                 : alone_row(workload, repeats);
    if (table) print_row(flags, row);
    report.count(row.right);
    rows.push_back(row.json);
  }
  const Json all = {{"version", kVersion},
                    {"cpu", machine.cpu},
                    {"isa", machine.isa},
                    {"repeats", repeats},
                    {"rows", rows}};
  if (json) json->write(all.dump(2, ' ', false, Json::error_handler_t::replace));
  return report.exit_code();
}

}  // namespace regard::cli
