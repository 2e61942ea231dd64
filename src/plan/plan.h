// From shapes to work: which path, how the rows are cut into independent items, and where in the
// scratch memory each part lives. Pure: reads no tensor memory and starts nothing.
#pragma once

#include <cstdint>

#include "contract/kernel_table.h"
#include "problem/problem.h"

namespace regard::plan {

/// One phase of independent work items over the row spaces of all batch entries and KV heads.
struct Phase {
  std::int64_t rows = 0;  ///< of one row space
  std::int64_t rows_per_item = 1;
  std::int64_t items_per_head = 0;
  std::int64_t items = 0;
  bool writes_main = false;  ///< out and lse
  bool writes_weights = false;
  bool chosen_rows = false;  ///< the row list is the problem's `rows`
};

struct Plan {
  Path path = Path::direct;
  const char* path_reason = "";
  const contract::DirectKernel* kernel = nullptr;
  int workers = 1;
  Phase main;
  Phase weights;  ///< items 0 unless weights of chosen rows are wanted
  contract::DirectLayout layout;
  std::int64_t ranges_bytes = 0;   ///< the key ranges of all rows, at the start of the scratch
  std::int64_t worker_bytes = 0;   ///< of each worker, after the ranges
  std::int64_t scratch_bytes = 0;  ///< of the call
};

/// `threads` is what the context has; the call may ask for fewer.
Plan make_plan(const problem::Problem& problem, const contract::KernelTable& table,
               int threads) noexcept;

/// Tiles of rows x keys that the main phase computes, and all there would be if every row saw
/// every key. Costs one pass over the rows.
struct TileCount {
  std::int64_t visited = 0;
  std::int64_t total = 0;
};
TileCount count_tiles(const problem::Problem& problem, const Plan& plan) noexcept;

}  // namespace regard::plan
