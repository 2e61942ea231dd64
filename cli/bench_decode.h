// regard bench decode: how fast cached keys are read, beside a plain read of the same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "app.h"
#include "cached_call.h"
#include "json_file.h"

namespace regard::cli {

/// The flags that are of `bench decode` alone.
struct DecodeFlags {
  std::vector<KvType> types;
  std::vector<std::int64_t> rows, page_tokens;
  std::vector<MemoryKind> memory;
  std::optional<std::int64_t> kv_heads, keys, head_size, prefix, sequences;

  /// The name of one that is given, or null.
  const char* given() const;
};

/// What the help says of them.
extern const char* const kDecodeHelp;

void add_decode_flags(CLI::App& app, DecodeFlags& flags);

/// Measures all combinations, prints them and writes them to `json` if it is not null; gives the
/// exit code.
int bench_decode(const DecodeFlags& flags, const std::vector<std::int64_t>& threads, int repeats,
                 JsonFile* json);

}  // namespace regard::cli
