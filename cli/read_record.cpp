// Reads the JSON of a bench. The file is not trusted: every member is asked for its type, and its
// text is shown in quotes alone.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "bench_record.h"
#include "command.h"
#include "io/file_error.h"
#include "io/map_file.h"

namespace regard::cli {
namespace {

using Json = nlohmann::json;

/// A JSON object and the words for its place.
class Members {
 public:
  Members(std::string place, const Json& object) : place_(std::move(place)), object_(object) {
    if (!object_.is_object()) refuse("it is no object as 'regard bench --json' writes");
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(fmt::format("{}: {}", place_, what));
  }
  std::string place_of(const char* name) const { return fmt::format("{}: {}", place_, name); }

  const Json& at(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) {
      refuse(fmt::format("it has no '{}', which 'regard bench --json' writes", name));
    }
    return *found;
  }

  std::string text(const char* name) const {
    const Json& member = at(name);
    if (!member.is_string()) refuse(fmt::format("{} is not text", name));
    std::string text = member.get<std::string>();
    const auto control = [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; };
    if (text.size() > 200 || std::any_of(text.begin(), text.end(), control)) {
      refuse(fmt::format("{}: {} is too long or not printable", name, io::in_quotes(text)));
    }
    return text;
  }

  int whole(const char* name, int most = std::numeric_limits<int>::max()) const {
    const Json& member = at(name);
    const auto value = member.is_number_unsigned() ? member.get<std::uint64_t>() : 0;
    if (value < 1 || value > std::uint64_t(most)) {
      refuse(fmt::format("{} is not a whole number in [1, {}]", name, most));
    }
    return int(value);
  }

  double positive(const char* name) const {
    const Json& member = at(name);
    const double value = member.is_number() ? member.get<double>() : 0;
    if (!(value > 0)) refuse(fmt::format("{} is not a number above 0", name));
    return value;
  }

  bool flag(const char* name) const {
    const Json& member = at(name);
    if (!member.is_boolean()) refuse(fmt::format("{} is neither true nor false", name));
    return member.get<bool>();
  }

 private:
  std::string place_;
  const Json& object_;
};

BenchRow row_of(const Members& row) {
  BenchRow result;
  Workload& workload = result.workload;
  workload.shape = parse_shape(row.place_of("shape"), row.text("shape"));
  const std::vector<BenchMask> masks = parse_masks(row.place_of("mask"), row.text("mask"));
  if (masks.size() != 1) row.refuse("mask names more than one");
  workload.mask = masks.front();
  workload.dtype = parse_dtype(row.place_of("dtype"), row.text("dtype"));
  workload.threads = row.whole("threads", kMostThreads);
  Speed& speed = result.speed;
  speed.path = row.text("path");
  speed.unit = row.text("unit");
  speed.right = row.flag("right");
  if (!speed.right) return result;
  speed.operations = workload.operations();
  speed.least_seconds = row.positive("least_seconds");
  speed.peak = 1e9 * row.positive("peak_gflops");
  return result;
}

Json parse(const std::string& flag, const std::string& path) {
  io::Source source;
  if (const Status status = io::map_file(path, source); !status.ok()) {
    throw Error(fmt::format("{}: {}", flag, status.message()));
  }
  const auto* begin = reinterpret_cast<const char*>(source.bytes.data());
  Json json = Json::parse(begin, begin + source.bytes.size(), nullptr, false);
  if (json.is_discarded()) throw Error(fmt::format("{}: {}: it is not JSON", flag, path));
  return json;
}

}  // namespace

BenchRecord read_record(const std::string& flag, const std::string& path) {
  const Json json = parse(flag, path);
  const std::string place = fmt::format("{}: {}", flag, path);
  const Members file(place, json);
  BenchRecord record;
  const Json& rows = file.at("rows");
  if (!rows.is_array()) file.refuse("'rows' is no list");
  record.version = file.text("version");
  record.cpu = file.text("cpu");
  record.isa = file.text("isa");
  record.threads = file.whole("machine_threads");
  record.effort = {file.whole("repeats"), file.whole("runs")};
  for (std::size_t n = 0; n < rows.size(); ++n) {
    record.rows.push_back(row_of({fmt::format("{}: row {}", place, n + 1), rows[n]}));
  }
  return record;
}

}  // namespace regard::cli
