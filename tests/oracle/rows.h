// Shared by the oracle's tests: a prepared oracle that ends the test where it refuses.
#pragma once

#include <gtest/gtest.h>

#include "regard/oracle.h"

namespace regard::test {

inline OracleRow oracle_row(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                            const Options& options, std::int64_t b = 0, std::int64_t h = 0,
                            std::int64_t i = 0) {
  Oracle oracle;
  OracleRow row;
  Status status = oracle.prepare(q, k, v, options);
  EXPECT_TRUE(status.ok()) << status.message();
  status = oracle.row(b, h, i, row);
  EXPECT_TRUE(status.ok()) << status.message();
  return row;
}

}  // namespace regard::test
