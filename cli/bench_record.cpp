#include "bench_record.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "command.h"
#include "regard/machine.h"
#include "regard/version.h"

namespace regard::cli {
namespace {

using Json = nlohmann::ordered_json;

void add_speed(Json& row, const Speed& speed) {
  row["least_seconds"] = speed.least_seconds;
  row["median_seconds"] = speed.median_seconds;
  row["worst_seconds"] = speed.worst_seconds;
  row["spread"] = speed.spread();
  row["gflops"] = speed.rate() / 1e9;
  row["peak_gflops"] = speed.peak / 1e9;
  row["share"] = speed.share();
  row["peak_drift"] = speed.peak_drift;
  row["steady"] = speed.steady();
}

Json json_of(const Comparison& comparison) {
  Json json = {{"least_seconds", comparison.before_seconds},
               {"share", comparison.before_share},
               {"time_ratio", comparison.time_ratio},
               {"share_ratio", nullptr},
               {"verdict", comparison.verdict}};
  if (comparison.share_ratio) json["share_ratio"] = *comparison.share_ratio;
  return json;
}

Json json_of(const BenchRow& row) {
  const auto& [workload, speed, comparison] = row;
  Json json = {{"shape", text_of(workload.shape)},
               {"mask", text_of(workload.mask)},
               {"dtype", dtype_name(workload.dtype)},
               {"threads", workload.threads},
               {"path", speed.path},
               {"unit", speed.unit},
               {"right", speed.right}};
  json["worst_units"] = std::isfinite(speed.worst_units) ? Json(speed.worst_units) : Json("inf");
  if (speed.right) add_speed(json, speed);
  if (comparison) json["before"] = json_of(*comparison);
  return json;
}

}  // namespace

BenchRecord record_here(const Effort& effort) {
  MachineInfo machine;
  require(describe_machine(machine));
  return {kVersion, machine.cpu, machine.isa, machine.threads, effort, {}};
}

std::string json_text(const BenchRecord& record) {
  Json rows = Json::array();
  for (const BenchRow& row : record.rows) rows.push_back(json_of(row));
  const Json json = {{"version", record.version},
                     {"cpu", record.cpu},
                     {"isa", record.isa},
                     {"machine_threads", record.threads},
                     {"repeats", record.effort.repeats},
                     {"runs", record.effort.runs},
                     {"rows", rows}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace regard::cli
