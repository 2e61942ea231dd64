// What is asked of the oracle, and the definition of which keys a row sees.
#pragma once

#include <cstdint>

#include "regard/oracle.h"

namespace regard::oracle {

struct Question {
  const ConstTensor& q;
  const ConstTensor& k;
  const ConstTensor& v;
  const Options& options;
  const Deviation& deviation;
  const HeldKeys& held;
  const ScoreError& error;
  double scale;
};

struct RowIndex {
  std::int64_t b = 0, h = 0, i = 0;
};

/// Sums of row numbers, offsets and window sizes, none of which overflows.
__extension__ typedef __int128 Position;

bool row_exists(const Question& question, const RowIndex& at) noexcept;
bool key_exists(const Question& question, const RowIndex& at, std::int64_t j) noexcept;

/// Of query row i: i + offset.
Position position(const Question& question, const RowIndex& at) noexcept;

/// Whether a row that exists sees key j: lengths, what a ring holds, causal alignment, window,
/// mask, and a bias other than -infinity. The bias is looked at last, and only where the others
/// see.
bool visible(const Question& question, const RowIndex& at, std::int64_t j);

}  // namespace regard::oracle
