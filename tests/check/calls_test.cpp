// Calls that cannot be judged are refused with a sentence that names the argument.
#include <stdexcept>

#include "check/judged.h"

namespace regard::test {
namespace {

class Calls : public testing::Test {
 protected:
  Status call() { return check(q, in.k.view(), in.v.view(), {}, out, lse, settings, report); }
  void expect_refused(StatusCode code, const char* name) {
    const Status status = call();
    EXPECT_EQ(status.code(), code);
    EXPECT_EQ(status.message().rfind(name, 0), 0U) << status.message();
  }

  Inputs<float> in = random_inputs<float>({1, 2, 1, 3, 4, 5, 6}, 1);
  PlainResult<float> result = plain_attention<float>(in, {});
  ConstTensor q = in.q.view();
  ConstTensor out = result.out.view();
  ConstTensor lse = result.lse.view();
  CheckSettings settings;
  CheckReport report;
};

TEST_F(Calls, ASoundCallIsServed) {
  const Status status = call();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(report.passed);
}

TEST_F(Calls, BadProblem) {
  q.shape[3] = 4;
  EXPECT_EQ(call().code(), StatusCode::invalid_argument);
}

TEST_F(Calls, ShapesThatDisagree) {
  out.shape[3] = 5;
  expect_refused(StatusCode::invalid_argument, "out:");
  out = result.out.view();
  lse.shape[2] = 4;
  expect_refused(StatusCode::invalid_argument, "lse:");
  lse = result.lse.view();
  settings.weights = result.weights.view();
  settings.weights.shape[3] = 5;
  expect_refused(StatusCode::invalid_argument, "weights:");
}

TEST_F(Calls, TypesThatAreNoNumbers) {
  out.dtype = DType::boolean;
  expect_refused(StatusCode::invalid_argument, "out:");
  out = result.out.view();
  lse.dtype = DType::i64;
  expect_refused(StatusCode::invalid_argument, "lse:");
}

TEST_F(Calls, NothingToJudge) {
  out.data = nullptr;
  expect_refused(StatusCode::invalid_argument, "out:");
}

TEST_F(Calls, NegativeCounts) {
  settings.rows = -1;
  expect_refused(StatusCode::invalid_argument, "rows:");
  settings = {};
  settings.worst_rows = -2;
  expect_refused(StatusCode::invalid_argument, "worst_rows:");
}

TEST_F(Calls, AThrowingHookIsContained) {
  settings.progress = [](std::int64_t, std::int64_t) -> bool { throw std::runtime_error("no"); };
  EXPECT_EQ(call().code(), StatusCode::internal);
}

TEST(EmptyCalls, NothingIsRight) {
  for (const ProblemShape& shape :
       {ProblemShape{0, 1, 1, 3, 3, 2, 2}, ProblemShape{1, 1, 1, 0, 3, 2, 2}}) {
    const auto in = random_inputs<float>(shape, 1);
    const TestTensor<float> out(shape.out()), lse(shape.lse());
    const CheckReport report = judge(in, {}, out, lse);
    EXPECT_TRUE(report.passed);
    EXPECT_EQ(report.rows_checked, 0);
    EXPECT_EQ(report.rms_error, 0);
  }
}

}  // namespace
}  // namespace regard::test
