// A score on its way: scale q.k, softcap, bias and ALiBi, each with its error.
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/compensated.h"
#include "oracle/question.h"

namespace regard::oracle {

struct Stepped {
  Pair value;
  double error = 0;  ///< what the judged arithmetic may be off by, see ScoreError
};

struct Score {
  Stepped scaled, capped, biased;
  double raw = 0;  ///< q.k
};

/// The scores of one row. `q` is padded with zeros to a multiple of kLanes.
class Scorer {
 public:
  Scorer(const Question& question, const RowIndex& at);

  Score score(std::int64_t j);
  std::int64_t kv_head() const { return kv_head_; }

 private:
  Stepped scaled(std::int64_t j, double& raw);
  Stepped capped(const Stepped& score) const;
  Stepped biased(const Stepped& score, std::int64_t j) const;

  const Question& question_;
  RowIndex at_;
  std::int64_t kv_head_;
  double slope_ = 0;
  double q_sum_ = 0;  ///< sum |q_d|
  std::vector<double> q_, k_;
};

/// A row of a tensor; what `row` holds past the row's end stays.
void load_row(const ConstTensor& tensor, std::int64_t b, std::int64_t h, std::int64_t s,
              double* row);

}  // namespace regard::oracle
