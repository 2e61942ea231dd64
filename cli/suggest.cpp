#include "suggest.h"

#include <algorithm>

namespace regard::cli {
namespace {

/// Letters to insert, delete, replace or swap with a neighbour (Damerau and Levenshtein, in the
/// form that edits no place twice).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const std::size_t replace = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view text, const std::vector<std::string>& words) {
  const std::string* nearest = nullptr;
  // A third of the letters may be wrong; an abbreviation counts as near, too.
  std::size_t best = std::min<std::size_t>(text.size(), 64) / 3 + 1;
  for (const std::string& word : words) {
    const bool begins = text.size() >= 3 && word.starts_with(text);
    const std::size_t far = begins ? 0 : distance(text.substr(0, 64), word);
    if (far >= best && !(begins && nearest == nullptr)) continue;
    best = far;
    nearest = &word;
  }
  return nearest == nullptr ? "" : "; did you mean " + *nearest + "?";
}

}  // namespace regard::cli
