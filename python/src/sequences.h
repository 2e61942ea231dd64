// Lengths of sequences that one call serves.
#pragma once

#include <cstdint>
#include <vector>

namespace regard::python {

/// How much longer each start is than the one before.
std::vector<std::int64_t> differences(const std::vector<std::int64_t>& starts);

struct Lengths {
  std::int64_t rows = 0, keys = 0;
};

/// Of the first sequence whose rows and keys are not equally many, or else of the first: whether
/// `causal=True` could mean two things.
Lengths unlike_lengths(const std::vector<std::int64_t>& rows,
                       const std::vector<std::int64_t>& keys);

}  // namespace regard::python
