// The table of `regard bench` for people, in 80 columns where shapes are not too long.
#pragma once

#include <string>
#include <vector>

#include "bench_compare.h"
#include "bench_record.h"

namespace regard::cli {

class BenchTable {
 public:
  /// `earlier` may be null.
  BenchTable(const std::vector<Workload>& grid, const Earlier* earlier);

  void print_head(const BenchRecord& record) const;
  /// A row may take seconds: it is shown when it is there, in a pipe too.
  void print(const BenchRow& row);
  /// What the marks mean, and how many rows were worse than before.
  void print_foot() const;

 private:
  void print_group(const BenchRow& row);
  void print_speed(const Speed& speed);
  void print_before(const BenchRow& row);

  const Earlier* earlier_;
  std::size_t shape_width_ = 0, mask_width_ = 0;
  std::string group_;  ///< the one that rows are in
  int unsteady_ = 0, worse_ = 0, compared_ = 0, rows_ = 0;
};

}  // namespace regard::cli
