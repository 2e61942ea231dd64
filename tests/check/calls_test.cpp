// Calls that cannot be judged are refused with a sentence that names the argument.
#include <stdexcept>

#include "check/judged.h"

namespace regard::test {
namespace {

class Calls : public testing::Test {
 protected:
  Status call() {
    return check(q_, in_.k.view(), in_.v.view(), {}, out_, lse_, settings_, report_);
  }
  void expect_refused(StatusCode code, const char* name) {
    const Status status = call();
    EXPECT_EQ(status.code(), code);
    EXPECT_EQ(status.message().rfind(name, 0), 0U) << status.message();
  }

  Inputs<float> in_ = random_inputs<float>({1, 2, 1, 3, 4, 5, 6}, 1);
  PlainResult<float> result_ = plain_attention<float>(in_, {});
  ConstTensor q_ = in_.q.view();
  ConstTensor out_ = result_.out.view();
  ConstTensor lse_ = result_.lse.view();
  CheckSettings settings_;
  CheckReport report_;
};

TEST_F(Calls, ASoundCallIsServed) {
  const Status status = call();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(report_.passed);
}

TEST_F(Calls, BadProblem) {
  q_.shape[3] = 4;
  EXPECT_EQ(call().code(), StatusCode::invalid_argument);
}

TEST_F(Calls, ShapesThatDisagree) {
  out_.shape[3] = 5;
  expect_refused(StatusCode::invalid_argument, "out:");
  out_ = result_.out.view();
  lse_.shape[2] = 4;
  expect_refused(StatusCode::invalid_argument, "lse:");
}

TEST_F(Calls, TypesThatAreNotServed) {
  out_.dtype = DType::bf16;
  expect_refused(StatusCode::unsupported, "out:");
  out_ = result_.out.view();
  lse_.dtype = DType::f16;
  expect_refused(StatusCode::unsupported, "lse:");
}

TEST_F(Calls, NothingToJudge) {
  out_.data = nullptr;
  expect_refused(StatusCode::invalid_argument, "out:");
}

TEST_F(Calls, NegativeCounts) {
  settings_.rows = -1;
  expect_refused(StatusCode::invalid_argument, "rows:");
  settings_ = {};
  settings_.worst_rows = -2;
  expect_refused(StatusCode::invalid_argument, "worst_rows:");
}

TEST_F(Calls, AThrowingHookIsContained) {
  settings_.progress = [](std::int64_t, std::int64_t) -> bool { throw std::runtime_error("no"); };
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
