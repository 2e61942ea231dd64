#include "sequences.h"

#include <algorithm>

namespace regard::python {

std::vector<std::int64_t> differences(const std::vector<std::int64_t>& starts) {
  std::vector<std::int64_t> found;
  for (std::size_t n = 1; n < starts.size(); ++n) {  // unchecked, so that it may wrap
    found.push_back(std::int64_t(std::uint64_t(starts[n]) - std::uint64_t(starts[n - 1])));
  }
  return found;
}

Lengths unlike_lengths(const std::vector<std::int64_t>& rows,
                       const std::vector<std::int64_t>& keys) {
  const std::size_t count = std::min(rows.size(), keys.size());
  for (std::size_t n = 0; n < count; ++n) {
    if (rows[n] != keys[n]) return {rows[n], keys[n]};
  }
  return count == 0 ? Lengths() : Lengths{rows[0], keys[0]};
}

}  // namespace regard::python
