// regard bench decode: how fast cached keys are read, beside a plain read of the same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app.h"
#include "cached_call.h"
#include "command.h"
#include "json_file.h"

namespace regard::cli {

/// The flags that are of `bench decode` alone.
struct DecodeFlags {
  std::vector<KvTypes> types;
  std::vector<std::int64_t> rows, page_tokens;
  std::vector<MemoryKind> memory;
  std::vector<DType> q_dtypes;
  std::optional<std::int64_t> kv_heads, keys, head_size, prefix, sequences;

  /// The name of one that is given, or null.
  const char* given() const;
};

void add_decode_flags(CLI::App& app, DecodeFlags& flags);

/// The help of `bench decode`: its own flags, then `groups` of others.
Page decode_page(const std::vector<std::string>& groups);

/// All combinations of what the flags list.
std::vector<DecodeWorkload> grid_of(const DecodeFlags& flags,
                                    const std::vector<std::int64_t>& threads);
/// The sequences of --prefix, each as given.
SharedWorkload shared_of(const DecodeFlags& flags, const DecodeWorkload& each);

/// Measures all combinations, prints them and writes them to `json` if it is not null; gives the
/// exit code.
int bench_decode(const DecodeFlags& flags, const std::vector<std::int64_t>& threads, int repeats,
                 JsonFile* json);

}  // namespace regard::cli
