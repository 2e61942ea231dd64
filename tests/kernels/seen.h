// Which pairs of row and key a call sees, by the oracle.
#pragma once

#include <limits>

#include "kernels/full_call.h"
#include "regard/oracle.h"

namespace regard::test {

/// (B, Hq, Sq, Skv), 1 where the row sees the key. The inputs hold finite numbers.
template <class T>
TestTensor<float> seen_pairs(const Inputs<T>& in, Options options) {
  const auto [batch, heads, rows, d] = in.q.shape();
  options.rows = {};
  Oracle oracle;
  const Status status = oracle.prepare(in.q.view(), in.k.view(), in.v.view(), options);
  EXPECT_TRUE(status.ok()) << status.message();
  TestTensor<float> seen({batch, heads, rows, in.k.shape()[2]});
  OracleRow row;
  for_each_index({batch, heads, rows, 1}, [&](auto b, auto h, auto i, auto) {
    EXPECT_TRUE(oracle.row(b, h, i, row).ok());
    for (std::size_t j = 0; j < row.scores.size(); ++j) {
      seen.at(b, h, i, std::int64_t(j)) = row.scores[j] != -std::numeric_limits<double>::infinity();
    }
  });
  return seen;
}

/// Some row of the batch entry and of any head sees the key.
inline bool any_sees(const TestTensor<float>& seen, std::int64_t b, std::int64_t j) {
  for (std::int64_t h = 0; h < seen.shape()[1]; ++h)
    for (std::int64_t i = 0; i < seen.shape()[2]; ++i)
      if (seen.at(b, h, i, j) != 0) return true;
  return false;
}

}  // namespace regard::test
