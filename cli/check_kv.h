// regard check --kv: what storing K and V in fewer bits does to attention over the inputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app.h"
#include "arrays.h"
#include "regard/kv_report.h"

namespace regard::cli {

/// "int8", or "int8/int4_32" where K and V differ; each of several is a report.
void add_kv_flag(CLI::App& app, std::vector<KvTypes>& types);

/// What is asked of every pair of types.
struct KvQuestion {
  const Inputs& inputs;
  const Options& options;
  std::vector<KvTypes> types;
  std::int64_t rows = 0;
  std::uint64_t seed = 0;
  std::int64_t worst_rows = 5;
};

/// Prints a table, a line a head and the worst rows of one pair of types, a line a pair of several;
/// or JSON.
void report_kv_types(const KvQuestion& question, bool json);

}  // namespace regard::cli
