// Results of parts as the tests make them: dense memory of any element type, by hand or at random.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "regard/merge.h"
#include "support/random.h"

namespace regard::test {

inline constexpr double kNone = -std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Out and lse of some parts of B x Hq x Sq rows; what `parts` shows stays where it is.
template <class T>
struct Parts {
  std::deque<TestTensor<T>> out, lse;

  Parts() = default;
  Parts(std::int64_t count, const Shape& shape, std::uint64_t seed, Layout layout = Layout::bhsd) {
    for (std::int64_t n = 0; n < count; ++n) {
      out.push_back(normal_tensor<T>(shape, seed + 2 * n, layout));
      lse.push_back(
          normal_tensor<T>({shape[0], shape[1], shape[2], 1}, seed + 2 * n + 1, layout, 2));
    }
  }

  std::vector<Part> parts() const {
    std::vector<Part> parts;
    for (std::size_t n = 0; n < out.size(); ++n) parts.push_back({out[n].view(), lse[n].view()});
    return parts;
  }
};

template <class T>
struct Merged {
  TestTensor<T> out, lse;
};

template <class T>
Merged<T> run_merge(const std::vector<Part>& parts, const ConstTensor& sinks = {},
                    Layout layout = Layout::bhsd) {
  Merged<T> result{TestTensor<T>(parts.front().out.shape, layout),
                   TestTensor<T>(parts.front().lse.shape, layout)};
  const Status status = merge(parts, sinks, result.out.tensor(), result.lse.tensor());
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(result.out.canaries_intact() && result.lse.canaries_intact());
  EXPECT_EQ(result.out.unwritten() + result.lse.unwritten(), 0);
  return result;
}

}  // namespace regard::test
