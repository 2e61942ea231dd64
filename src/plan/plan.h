// From shapes to work: which path, how the rows are cut into independent items, and where in the
// scratch memory each part lives. Pure: reads no tensor memory and starts nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "contract/kernel_table.h"
#include "plan/decode_plan.h"
#include "problem/problem.h"

namespace regard::plan {

/// One phase of independent work items.
struct Phase {
  enum class Kind : std::uint8_t {
    rows,    ///< out, lse, entropy, top keys, weights of all rows; spaces are KV heads
    chosen,  ///< weights of the problem's `rows`; spaces are KV heads
    mass,    ///< key masses, in stretches of keys; spaces are query heads
  };
  Kind kind = Kind::rows;
  std::int64_t length = 0;     ///< rows (keys) of one space
  std::int64_t item_size = 1;  ///< rows (keys) of one item
  std::int64_t items_per_space = 0;
  std::int64_t items = 0;
};

struct Plan {
  Path path = Path::direct;
  const char* path_reason = "";
  const contract::DirectKernel* kernel = nullptr;
  int workers = 1;
  std::int64_t decode_rows = 0;  ///< sequences of at most so many rows a KV head take `decode`
  /// Out and LSE of those; the phases below serve what else is wanted.
  std::optional<DecodePlan> decode;
  Phase main;     ///< without items where neither rows nor key masses need it
  Phase weights;  ///< items 0 unless weights of chosen rows are wanted
  Phase mass;     ///< items 0 unless key masses are wanted
  contract::DirectLayout layout;
  std::int64_t ranges_bytes = 0;   ///< the key ranges of all rows, at the start of the scratch
  std::int64_t kept_bytes = 0;     ///< m, 1/l and share of all rows, after the ranges
  std::int64_t worker_bytes = 0;   ///< of each worker, after those
  std::int64_t scratch_bytes = 0;  ///< of the call
};

/// Scores pass a hook, or pairs are hidden one by one: the general form of the loop.
bool has_general_scores(const problem::Problem& problem) noexcept;

/// K and V are of a half type: their blocks are converted.
bool converts_inputs(const problem::Problem& problem) noexcept;

/// Threads, of at most `threads`, that pay for so many multiply-adds.
int useful_workers(double work, int threads) noexcept;

/// Score tiles computed for each tile visited, over all phases.
double count_passes(const problem::Problem& problem, const Plan& plan) noexcept;

/// `threads` is what the context has; the call may ask for fewer.
Plan make_plan(const problem::Problem& problem, const contract::KernelTable& table, int threads);

/// Tiles of the main phase; those of `decode` have an overload of their own. Costs one pass over
/// the rows.
TileCount count_tiles(const problem::Problem& problem, const Plan& plan) noexcept;

}  // namespace regard::plan
