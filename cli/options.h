// The options of attention as flags: the names of the conventions, with dashes.
// Options that this version of the library does not serve are flags too, so that the library's
// own sentence answers them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app.h"
#include "flags.h"
#include "regard/options.h"

namespace regard::cli {

struct AttentionFlags {
  std::optional<double> scale, softcap;
  Causal causal = Causal::none;
  std::vector<std::int64_t> q_offset, window, q_len, kv_len, rows;
  std::string mask, bias, alibi_slopes, sinks;
  Precision precision = Precision::default_;
  Path path = Path::automatic;
  std::optional<std::int64_t> threads;

  /// Refers to the lists here, so the flags outlive what is made of them.
  Options options() const;
};

/// The loops by the words that --path takes and --explain prints.
const Choices<Path>& path_names();

/// Flags that say which weights are meant: scale, causal, masks, lengths.
void add_meaning_flags(CLI::App& app, AttentionFlags& flags);
/// Flags that say how to compute: precision, path, threads.
void add_engine_flags(CLI::App& app, AttentionFlags& flags);

}  // namespace regard::cli
