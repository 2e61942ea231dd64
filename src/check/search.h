// Finds the convention that a failed result follows.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "check/judge.h"

namespace regard::judging {

/// Up to `kMost` of the rows it is shown, each with equal chance.
class Reservoir {
 public:
  static constexpr std::size_t kMost = 16;
  explicit Reservoir(std::uint64_t seed) : engine_(seed) {}
  void show(const RowVerdict& row);
  const std::vector<RowVerdict>& rows() const { return rows_; }

 private:
  std::mt19937_64 engine_;
  std::vector<RowVerdict> rows_;
  std::int64_t shown_ = 0;
};

/// Rows to try an alternative on, judged by our own conventions.
struct Evidence {
  Reservoir failed, passed;
};

/// One alternative, or two together, that put every row of the evidence within its bound. A fit
/// counts only where some failed row tells the two answers apart: the bound there is smaller than
/// the distance to ours. `go_on` is asked before each trial; false gives up.
Status find_convention(const Setting& asked, const Evidence& evidence,
                       const std::function<bool()>& go_on, Convention& convention);

}  // namespace regard::judging
