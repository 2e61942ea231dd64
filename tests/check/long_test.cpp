// Right results are never accused: 100000 rows of random calls in each type.
#include "check/right_results.h"

namespace regard::test {
namespace {

constexpr std::int64_t kRows = 100000;

TEST(LongRightResults, F64) {
  expect_never_accused<double, double>(kRows, 1);
}
TEST(LongRightResults, F32) {
  expect_never_accused<float, float>(kRows, 2);
}
TEST(LongRightResults, F16) {
  expect_never_accused<F16, float>(kRows, 3);
}
TEST(LongRightResults, BF16) {
  expect_never_accused<BF16, float>(kRows, 4);
}

}  // namespace
}  // namespace regard::test
