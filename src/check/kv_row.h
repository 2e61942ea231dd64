// Two answers to one question, over the numbers a cache was given and over those it holds, and what
// many rows come to.
#pragma once

#include <cstdint>

#include "regard/kv_report.h"

namespace regard::judging {

/// All of a KvRowReport but its place. Both rows hold scores of Stage::capped.
KvRowReport compare_rows(const OracleRow& exact, const OracleRow& stored);

/// Takes rows one by one.
class Tally {
 public:
  /// Of one head, or of all.
  explicit Tally(std::int64_t b = -1, std::int64_t h = -1) {
    summary_.b = b;
    summary_.h = h;
  }
  void take(const KvRowReport& row);
  KvSummary summary() const;

 private:
  KvSummary summary_;  ///< without its means
  double out_squares_ = 0, entropy_changes_ = 0;
};

}  // namespace regard::judging
