// Decode calls as work: chunks of each sequence's keys for all rows that share them, then an end
// for each sequence and KV head. Reads page tables, no tensor memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "contract/kernel_table.h"
#include "problem/problem.h"
#include "regard/kv_cache.h"

namespace regard::plan {

/// Tiles of rows x keys that are computed, and all there would be if every row saw every key.
/// Intervals alone count: a mask or a bias may hide more.
struct TileCount {
  std::int64_t visited = 0;
  std::int64_t total = 0;
};

/// What is decoded: a problem whose keys lie in its own k and v, or in a cache.
struct DecodeSource {
  const problem::Problem& problem;
  const KvView* cache = nullptr;
  std::span<const std::int64_t> parents{};  ///< as regard::DecodeRows has them
  /// Sequences with more rows a KV head are another path's: they get no items.
  std::int64_t most_rows = INT64_MAX;
};

/// Whether sequence n of a problem, by its own number of rows, is one for `decode`: what else is in
/// a packed batch does not matter.
bool decodes(const problem::Problem& problem, std::int64_t most_rows, std::int64_t n) noexcept;

/// Rows of the row space that `decode` takes of sequence n, those past q_len included: they are
/// written too. 0 where another path has it.
std::int64_t decode_rows(const DecodeSource& source, std::int64_t n) noexcept;

/// Neighbouring sequences whose first keys lie in the same pages: these are read once for all.
struct SharedKeys {
  std::int64_t first = 0;  ///< sequence
  std::int64_t count = 1;
  std::int64_t keys = 0;  ///< whole blocks; 0: nothing is shared
  std::int64_t rows = 0;  ///< of the row space of one KV head, all sequences together
};

/// One phase: items of each group or sequence follow one another, part by part of its KV heads.
struct DecodePhase {
  enum class Kind : std::uint8_t { shared, own, finish };
  Kind kind = Kind::own;
  std::vector<std::int64_t> starts;  ///< the first item of each group (sequence), then of none
  std::int64_t items() const noexcept { return starts.empty() ? 0 : starts.back(); }
};

struct DecodePlan {
  const contract::DecodeKernel* kernel = nullptr;
  int workers = 1;
  std::vector<SharedKeys> groups;
  std::vector<std::int64_t> shared_keys;  ///< of each sequence: where its own begin
  std::vector<std::int64_t> partials;     ///< offset of each sequence's, in elements
  DecodePhase shared, own, finish;
  contract::DecodeLayout layout;
  contract::DecodeRequests requests;
  std::int64_t partial_size = 0;     ///< elements of one
  std::int64_t rows_per_item = 0;    ///< most
  std::int64_t heads_per_item = 1;   ///< KV heads, most
  std::int64_t ranges_bytes = 0;     ///< lo and hi of all rows, at the start of the scratch
  std::int64_t trees_bytes = 0;      ///< then a word a row
  std::int64_t sequences_bytes = 0;  ///< then contract::DecodeSequence, (KV heads, sequences)
  std::int64_t partials_bytes = 0;
  std::int64_t worker_bytes = 0;
  std::int64_t scratch_bytes = 0;
};

/// `threads` is what the context has.
DecodePlan make_decode_plan(const DecodeSource& source, const contract::KernelTable& table,
                            int threads);

/// Tiles of a pass of rows and a block of keys; those that sequences share count once for all rows.
/// An item takes all its passes through a block that one of their rows sees.
TileCount count_tiles(const DecodeSource& source, const DecodePlan& plan);

/// Fills what the tasks of a call share: ranges, trees and sequences, in `scratch`.
void fill_decode(const DecodeSource& source, const DecodePlan& plan, std::byte* scratch) noexcept;

/// Carries out item `item` of `phase` for `worker`.
void run_decode_item(const DecodeSource& source, const DecodePlan& plan, const DecodePhase& phase,
                     std::int64_t item, int worker, std::byte* scratch) noexcept;

}  // namespace regard::plan
