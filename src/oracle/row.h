// One row on its way: the definition's steps, each over the keys that the row sees.
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/compensated.h"
#include "oracle/question.h"
#include "oracle/score.h"

namespace regard::oracle {

class RowWork {
 public:
  RowWork(const Question& question, const RowIndex& at, OracleRow& row);
  void compute();

 private:
  void take_scores();
  void keep_stage(std::int64_t j, const Score& score);
  void raise_reference(const Pair& score);
  void take_sink();
  void take_weights();
  void take_values();
  void finish_lse();
  void become_empty();

  const Question& question_;
  RowIndex at_;
  OracleRow& row_;
  std::int64_t kv_head_ = 0;
  std::vector<std::int64_t> seen_;  ///< keys in ascending order
  std::vector<Pair> scores_;        ///< of the keys seen
  std::vector<double> raw_;         ///< q.k of the keys seen
  Pair highest_;                    ///< largest score: NaN once one is not finite
  Pair reference_;                  ///< that, or the sink where it is larger
  double sink_;                     ///< -infinity: none
  double sink_weight_ = 0;
  Pair sum_;  ///< of e^(s_j - reference), the sink included
};

}  // namespace regard::oracle
