// A call of `forward` with memory of its own, to be timed: everything a caller pays for, the
// context and its scratch reused, the output given.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "bench_grid.h"
#include "regard/attention.h"
#include "regard/check.h"

namespace regard::cli {

class TimedCall {
 public:
  /// Normal numbers, the same for a shape and type.
  explicit TimedCall(const Workload& workload);

  Explanation explanation() const;
  /// Of one call, the mean of `calls` in a row.
  double seconds(int calls) const;
  /// Judges 16 rows of the last result by the oracle.
  CheckReport check_sample() const;

 private:
  struct Free {
    void operator()(std::byte* bytes) const { ::operator delete(bytes, kAlignment); }
  };
  static constexpr std::align_val_t kAlignment{64};  // a cache line, as other libraries allocate

  std::byte* allocate(std::int64_t bytes);
  ConstTensor normal_tensor(const Shape& shape, DType dtype, std::mt19937_64& engine);

  std::vector<std::unique_ptr<std::byte, Free>> memory_;
  Context context_;
  Options options_;
  ConstTensor q_, k_, v_;
  Outputs outputs_;
};

}  // namespace regard::cli
