// The rows that a check or a report looks at, one after another, and the hook that may stop it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>

#include "regard/status.h"
#include "regard/tensor.h"

namespace regard::judging {

/// Rows of (B, Hq, Sq) counted in this order. A sample takes one row from each of equal stretches,
/// so no row comes twice and every batch entry and head gets its share.
class Sample {
 public:
  Sample(std::int64_t total, std::int64_t wanted, std::uint64_t seed)
      : total_(total), count_(wanted == 0 ? total : std::min(wanted, total)), engine_(seed) {}

  std::int64_t count() const { return count_; }

  /// Row of stretch n; ask for n = 0, 1, ... in order.
  std::int64_t pick(std::int64_t n);

 private:
  std::int64_t total_, count_;
  std::mt19937_64 engine_;
};

/// How many rows are wanted, 0 being all, which, and who is told.
struct WalkSettings {
  std::int64_t rows;
  std::uint64_t seed;
  const std::function<bool(std::int64_t done, std::int64_t total)>& progress;
};

/// What a call answers that its progress hook has stopped.
Status stopped();

/// Refuses a count below 0.
Status require_count(const char* name, std::int64_t count);

class Walk {
 public:
  /// `out_shape` is (B, Hq, Sq, Dv). Keeps a reference to the hook.
  Walk(const Shape& out_shape, std::int64_t keys, const WalkSettings& settings);

  std::int64_t count() const { return sample_.count(); }

  /// Tells the hook; false where it wants to stop.
  bool go_on(std::int64_t done) const { return !progress_ || progress_(done, count()); }

  /// visit(b, h, i), which returns a Status, for each row until one is not ok. Once only.
  template <class Visit>
  Status each(const Visit& visit) {
    for (std::int64_t n = 0; n < count(); ++n) {
      if (n % interval_ == 0 && !go_on(n)) return stopped();
      const std::int64_t index = sample_.pick(n);
      const std::int64_t head = index / rows_;
      if (Status status = visit(head / heads_, head % heads_, index % rows_); !status.ok()) {
        return status;
      }
    }
    return go_on(count()) ? Status() : stopped();
  }

 private:
  std::int64_t heads_, rows_, interval_;
  const std::function<bool(std::int64_t, std::int64_t)>& progress_;
  Sample sample_;
};

}  // namespace regard::judging
