// Shared by the checker's tests: a problem with a result to judge.
#pragma once

#include <gtest/gtest.h>

#include "regard/check.h"
#include "support/plain.h"

namespace regard::test {

template <class T, class U = T, class L = U>
CheckReport judge(const Inputs<T>& in, const Options& options, const TestTensor<U>& out,
                  const TestTensor<L>& lse, const CheckSettings& settings = {}) {
  CheckReport report;
  const Status status = check(in.q.view(), in.k.view(), in.v.view(), options, out.view(),
                              lse.view(), settings, report);
  EXPECT_TRUE(status.ok()) << status.message();
  return report;
}

/// The oracle's own answer, rounded to T.
template <class T>
PlainResult<T> oracle_result(const Inputs<T>& in, const Options& options) {
  Oracle oracle;
  const Status status = oracle.prepare(in.q.view(), in.k.view(), in.v.view(), options);
  EXPECT_TRUE(status.ok()) << status.message();
  Shape lse_shape = oracle.out_shape();
  lse_shape[3] = 1;
  PlainResult<T> result{TestTensor<T>(oracle.out_shape()), TestTensor<T>(lse_shape), {}};
  OracleRow row;
  for_each_index(lse_shape, [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t) {
    EXPECT_TRUE(oracle.row(b, h, i, row).ok());
    result.lse.at(b, h, i, 0) = static_cast<T>(row.lse);
    for (std::int64_t d = 0; d < oracle.out_shape()[3]; ++d)
      result.out.at(b, h, i, d) = static_cast<T>(row.out[d]);
  });
  return result;
}

inline Options aligned(Causal causal) {
  Options options;
  options.causal = causal;
  return options;
}

}  // namespace regard::test
