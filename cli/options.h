// The options of attention as flags: the names of the conventions, with dashes. What a value may be
// is for the library to say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app.h"
#include "flags.h"
#include "io/arrays.h"
#include "regard/options.h"

namespace regard::cli {

struct AttentionFlags {
  std::optional<double> scale, softcap;
  Causal causal = Causal::none;
  std::vector<std::int64_t> q_offset, window, q_len, kv_len, rows;
  std::string mask, bias, alibi_slopes, sinks;  ///< "FILE" or "NAME:FILE"
  Precision precision = Precision::default_;
  Path path = Path::automatic;
  std::optional<std::int64_t> threads;

  /// Reads the files. Refers to the lists and arrays here, so the flags outlive what is made of
  /// them.
  Options options() const;

 private:
  ConstTensor loaded(const char* option, const std::string& text) const;
  ConstTensor loaded_per_head(const char* option, const std::string& text,
                              std::size_t most_rank) const;

  mutable std::vector<io::Array> arrays_;  ///< keep the memory of views
};

/// Flags that say which weights are meant: scale, causal, masks, lengths.
void add_meaning_flags(CLI::App& app, AttentionFlags& flags);
/// Flags that say how to compute: precision, path, threads.
void add_engine_flags(CLI::App& app, AttentionFlags& flags);

}  // namespace regard::cli
