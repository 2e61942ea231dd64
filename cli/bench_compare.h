// Sets the rows of a bench beside those of an earlier one.
#pragma once

#include <string>
#include <unordered_map>

#include "bench_record.h"

namespace regard::cli {

class Earlier {
 public:
  /// `name` is what sentences call it.
  Earlier(std::string name, BenchRecord record);

  const BenchRecord& record() const { return record_; }
  /// Nothing where no row of the same shape, mask, type and threads was right then.
  std::optional<Comparison> compare(const Workload& workload, const Speed& now) const;
  /// What it was, and one sentence more if its machine was another.
  std::string heading(const BenchRecord& now) const;

 private:
  std::string name_;
  BenchRecord record_;
  std::unordered_map<std::string, std::size_t> places_;  ///< of rows, by key_of
};

}  // namespace regard::cli
