#include "bench_decode.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "command.h"
#include "decode_speed.h"
#include "flags.h"
#include "kv_types.h"
#include "regard/machine.h"
#include "regard/version.h"
#include "report.h"
#include "text.h"

namespace regard::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kGiga = 1e9;
constexpr std::int64_t kSharedKeys = 7200, kKeys = 8192;

std::string pages_text(std::int64_t page_tokens) {
  return page_tokens == 0 ? "contiguous" : std::to_string(page_tokens);
}

std::int64_t at_least(const char* name, std::int64_t value, std::int64_t lowest) {
  if (value < lowest) throw Error(fmt::format("{}: {} is below {}", name, value, lowest));
  return value;
}

template <class T>
std::vector<T> or_else(const std::vector<T>& given, T absent) {
  return given.empty() ? std::vector<T>{absent} : given;
}

std::vector<DecodeWorkload> grid_of(const DecodeFlags& flags,
                                    const std::vector<std::int64_t>& threads) {
  DecodeWorkload workload;
  workload.kv_heads = at_least("--kv-heads", flags.kv_heads.value_or(8), 1);
  workload.keys = at_least("--keys", flags.keys.value_or(flags.prefix ? kSharedKeys : kKeys), 1);
  workload.head_size = at_least("--head-size", flags.head_size.value_or(128), 1);
  std::vector<DecodeWorkload> grid;
  for (const std::int64_t count : threads) {
    workload.threads = int(count);
    for (const MemoryKind memory : or_else(flags.memory, MemoryKind::ram)) {
      workload.memory = memory;
      for (const std::int64_t page_tokens :
           or_else(flags.page_tokens, std::int64_t{flags.prefix ? 64 : 0})) {
        workload.page_tokens = page_tokens;
        for (const KvType type : or_else(flags.types, KvType::f32)) {
          workload.type = type;
          for (const std::int64_t rows : or_else(flags.rows, std::int64_t{1})) {
            workload.rows = at_least("--rows", rows, 1);
            grid.push_back(workload);
          }
        }
      }
    }
  }
  return grid;
}

Json json_of(const DecodeWorkload& workload) {
  return {{"kv", kv_type_name(workload.type)}, {"rows", workload.rows},
          {"kv_heads", workload.kv_heads},     {"keys", workload.keys},
          {"head_size", workload.head_size},   {"page_tokens", workload.page_tokens},
          {"threads", workload.threads}};
}

void add_verdict(Json& row, bool right, double worst_units) {
  row["right"] = right;
  row["worst_units"] = std::isfinite(worst_units) ? Json(worst_units) : Json("inf");
}

void add_times(Json& row, const std::string& name, const TurnTimes& times) {
  row[name + "least_seconds"] = times.least;
  row[name + "median_seconds"] = times.median;
  row[name + "worst_seconds"] = times.worst;
}

void print_wrong(double worst_units) {
  fmt::print("WRONG: an error of {:.3g} times its bound\n", worst_units);
}

void print_name(const DecodeWorkload& w) {
  fmt::print("{:<10}{:>5}{:>12}{:>9}", kv_type_name(w.type), w.rows, pages_text(w.page_tokens),
             w.threads);
}

bool run_row(const DecodeWorkload& workload, int repeats, bool table, Json& row) {
  const DecodeSpeed speed = measure_decode(workload, repeats);
  row = json_of(workload);
  row["memory"] = memory_name(workload.memory);
  row["layers"] = speed.layers;
  row["bytes"] = speed.bytes;
  add_verdict(row, speed.right, speed.worst_units);
  if (speed.right) {
    add_times(row, "", speed.decode);
    add_times(row, "read_", speed.read);
    row["spread"] = speed.decode.spread();
    row["gigabytes_per_second"] = speed.rate() / kGiga;
    row["read_gigabytes_per_second"] = speed.read_rate() / kGiga;
    row["share"] = speed.share();
  }
  if (!table) return speed.right;
  print_name(workload);
  fmt::print("{:>8}", memory_name(workload.memory));
  if (speed.right) {
    fmt::print("{:>10}{:>8.1f}%{:>8.1f}{:>8.1f}{:>7.1f}%\n", time_text(speed.decode.least),
               100 * speed.decode.spread(), speed.rate() / kGiga, speed.read_rate() / kGiga,
               100 * speed.share());
  } else {
    print_wrong(speed.worst_units);
  }
  return speed.right;
}

bool run_shared_row(const SharedWorkload& workload, int repeats, bool table, Json& row) {
  const SharedSpeed speed = measure_shared(workload, repeats);
  row = json_of(workload.each);
  row["prefix"] = workload.prefix;
  row["sequences"] = workload.sequences;
  add_verdict(row, speed.right, speed.worst_units);
  if (speed.right) {
    add_times(row, "", speed.together);
    add_times(row, "apart_", speed.apart);
    row["spread"] = speed.together.spread();
    row["gain"] = speed.gain();
  }
  if (!table) return speed.right;
  print_name(workload.each);
  if (speed.right) {
    fmt::print("{:>11}{:>8.1f}%{:>11}{:>7.2f}\n", time_text(speed.together.least),
               100 * speed.together.spread(), time_text(speed.apart.least), speed.gain());
  } else {
    print_wrong(speed.worst_units);
  }
  return speed.right;
}

SharedWorkload shared_of(const DecodeFlags& flags, const DecodeWorkload& each) {
  SharedWorkload workload;
  workload.each = each;
  workload.prefix = at_least("--prefix", *flags.prefix, 1);
  workload.sequences = at_least("--sequences", flags.sequences.value_or(8), 1);
  if (workload.prefix >= each.keys) {
    throw Error(
        fmt::format("--prefix: {} is not below the {} of --keys", workload.prefix, each.keys));
  }
  return workload;
}

void print_head(const MachineInfo& machine, const DecodeFlags& flags, const DecodeWorkload& first,
                int repeats) {
  fmt::print("{}, {}, {} KV heads, {} keys, head size {}, the least of {} turns\n", machine.cpu,
             machine.isa, first.kv_heads, first.keys, first.head_size, repeats);
  if (flags.prefix) {
    fmt::print("{} sequences, the first {} tokens shared\n", flags.sequences.value_or(8),
               *flags.prefix);
  }
  fmt::print("\n{:<10}{:>5}{:>12}{:>9}", "kv", "rows", "page", "threads");
  if (flags.prefix) {
    fmt::print("{:>11}{:>9}{:>11}{:>7}\n", "together", "spread", "apart", "gain");
  } else {
    fmt::print("{:>8}{:>10}{:>9}{:>8}{:>8}{:>8}\n", "memory", "least", "spread", "GB/s", "read",
               "share");
  }
}

}  // namespace

const char* const kDecodeHelp =
    "'bench decode' sets `decode` of one row a query head, in f32, beside a plain read of the "
    "same\n"
    "bytes with the widest loads that the instruction set has, in turns in this process by as "
    "many\n"
    "threads. GB/s counts K, V and their scales as stored, once, and nothing else; read is that "
    "of\n"
    "the plain read, and share is the one over the other, best over best. From ram, layers take\n"
    "turns, and between two uses of one at least four times the last-level cache is read. With\n"
    "--prefix it is one call over sequences that share their first tokens beside a call for each:\n"
    "gain is the least time of all calls apart over that of the one. Of every row 16 answers are\n"
    "checked over what the cache holds before it is timed.\n";

const char* DecodeFlags::given() const {
  if (!types.empty()) return "--kv";
  if (!rows.empty()) return "--rows";
  if (!page_tokens.empty()) return "--page-tokens";
  if (!memory.empty()) return "--memory";
  if (kv_heads) return "--kv-heads";
  if (keys) return "--keys";
  if (head_size) return "--head-size";
  if (prefix) return "--prefix";
  return sequences ? "--sequences" : nullptr;
}

namespace {

void add_lists(CLI::App& app, DecodeFlags& flags) {
  add_each_value(app, {"--kv", "TYPE,...", "what K and V are stored as; default f32"},
                 [&flags](const std::string& text) {
                   for (const std::string& type : split(text, ',')) {
                     flags.types.push_back(parse_kv_type("--kv", type));
                   }
                 });
  add_each_value(app, {"--rows", "N,...", "query rows that share a KV head; default 1"},
                 [&flags](const std::string& text) {
                   for (const std::int64_t rows : parse_integers("--rows", text, ',')) {
                     flags.rows.push_back(rows);
                   }
                 });
  add_each_value(app,
                 {"--page-tokens", "N,...",
                  "tokens of a page, or 'contiguous'; default contiguous, with --prefix 64"},
                 [&flags](const std::string& text) {
                   for (const std::string& tokens : split(text, ',')) {
                     flags.page_tokens.push_back(
                         tokens == "contiguous"
                             ? 0
                             : at_least("--page-tokens",
                                        parse_integers("--page-tokens", tokens, ',').front(), 1));
                   }
                 });
  add_each_value(
      app, {"--memory", "ram|cache,...", "layers in rotation (default), or one repeated"},
      [&flags](const std::string& text) {
        for (const std::string& memory : split(text, ',')) {
          flags.memory.push_back(MemoryKind(parse_choice("--memory", memory, {"ram", "cache"})));
        }
      });
}

}  // namespace

void add_decode_flags(CLI::App& app, DecodeFlags& flags) {
  begin_group(app, "The grid of 'bench decode'");
  add_lists(app, flags);
  add_integer(app, {"--kv-heads", "N", "default 8"}, flags.kv_heads);
  add_integer(app, {"--keys", "N", "of a sequence; default 8192, with --prefix 7200"}, flags.keys);
  add_integer(app, {"--head-size", "N", "default 128"}, flags.head_size);
  add_integer(app, {"--prefix", "N", "tokens that sequences share"}, flags.prefix);
  add_integer(app, {"--sequences", "N", "how many share them; default 8"}, flags.sequences);
}

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
    Json row;
    report.count(flags.prefix ? run_shared_row(shared_of(flags, workload), repeats, table, row)
                              : run_row(workload, repeats, table, row));
    std::fflush(stdout);  // a row may take seconds
    rows.push_back(std::move(row));
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
