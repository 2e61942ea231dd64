// A context survives fork: the child makes its own threads and scratch, whatever the parent's
// other threads were doing.
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "run/child.h"
#include "run/job.h"

namespace regard::test {
namespace {

constexpr int kSameBits = 0;
constexpr int kOtherBits = 1;

template <class T>
int compare(const Job<T>& job, const Context& context, const Result<T>& expected) {
  return job.run(context).same_bits(expected) ? kSameBits : kOtherBits;
}

class Fork : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(job.plan(context).threads, 2); }
  int compare_here() const { return compare(job, context, expected); }

  Context context{2};
  Job<float> job{1};
  Result<float> expected = job.run(Context(1));
};

TEST_F(Fork, BeforeTheFirstCall) {
  EXPECT_EQ(in_child([&] { return compare_here(); }), kSameBits);
  EXPECT_EQ(compare_here(), kSameBits);
}

TEST_F(Fork, AfterACallWithThreads) {
  ASSERT_EQ(compare_here(), kSameBits);
  for (int child = 0; child < 3; ++child)
    EXPECT_EQ(in_child([&] { return compare_here() + compare_here(); }), kSameBits);
  EXPECT_EQ(compare_here(), kSameBits);
}

TEST_F(Fork, OfAChild) {
  ASSERT_EQ(compare_here(), kSameBits);
  const int code = in_child([&] {
    const int mine = compare_here();
    return mine + in_child([&] { return compare_here(); }) + compare_here();
  });
  EXPECT_EQ(code, kSameBits);
}

TEST_F(Fork, WithCallersOnSeveralThreadsOfTheChild) {
  ASSERT_EQ(compare_here(), kSameBits);
  const int code = in_child([&] {
    std::vector<int> codes(3, kOtherBits);
    std::vector<std::thread> callers;
    for (int& result : codes) callers.emplace_back([&] { result = compare_here(); });
    for (std::thread& caller : callers) caller.join();
    return codes[0] + codes[1] + codes[2];
  });
  EXPECT_EQ(code, kSameBits);
}

TEST_F(Fork, LeavesContextsThatTheChildMayDestroy) {
  auto used = std::make_unique<Context>(2);
  auto unused = std::make_unique<Context>(2);
  ASSERT_EQ(compare(job, *used, expected), kSameBits);
  const int code = in_child([&] {
    used.reset();
    unused.reset();
    return compare(job, Context(2), expected);
  });
  EXPECT_EQ(code, kSameBits);
  EXPECT_EQ(compare(job, *used, expected), kSameBits);
}

TEST_F(Fork, LeavesContextsThatTheChildMayUseThenDestroy) {
  auto used = std::make_unique<Context>(2);
  ASSERT_EQ(compare(job, *used, expected), kSameBits);
  const int code = in_child([&] {
    const int result = compare(job, *used, expected);
    used.reset();
    return result;
  });
  EXPECT_EQ(code, kSameBits);
}

/// A call on another thread that stands in its cancel hook until it is let go.
class CallInFlight {
 public:
  CallInFlight(Job<float> job, const Context& context) : job_(std::move(job)) {
    job_.options.cancel = [this] {
      inside_ = true;
      while (!released_) std::this_thread::yield();
      return false;
    };
    thread_ = std::thread([this, &context] { result_.emplace(job_.run(context)); });
    while (!inside_) std::this_thread::yield();
  }
  ~CallInFlight() {
    if (thread_.joinable()) finish();
  }
  CallInFlight(const CallInFlight&) = delete;
  CallInFlight& operator=(const CallInFlight&) = delete;

  const Result<float>& finish() {
    released_ = true;
    thread_.join();
    return *result_;
  }

 private:
  Job<float> job_;
  std::atomic<bool> inside_ = false, released_ = false;
  std::optional<Result<float>> result_;
  std::thread thread_;
};

TEST_F(Fork, WhileAnotherThreadIsInsideACall) {
  if (kThreadSanitizer) GTEST_SKIP() << "threads after a fork with threads are not for TSan";
  CallInFlight call(job, context);
  const pid_t child = start_child([&] { return compare_here() + compare_here(); });
  EXPECT_EQ(wait_for(child), kSameBits);
  EXPECT_TRUE(call.finish().same_bits(expected));
}

TEST_F(Fork, AtAnyMomentOfAnotherThreadsCalls) {
  if (kThreadSanitizer) GTEST_SKIP() << "threads after a fork with threads are not for TSan";
  if (kAddressSanitizer) {
    // The other thread may be allocating: the C library takes its heap's locks before a fork, this
    // sanitizer does not, and the child would wait for them for ever.
    GTEST_SKIP() << "ASan's own allocator does not survive a fork with threads";
  }
  std::atomic<bool> stop = false;
  int differing = 0;
  std::thread busy([&] {
    while (!stop) differing += compare_here();
  });
  for (int child = 0; child < 20; ++child)
    EXPECT_EQ(in_child([&] { return compare_here(); }), kSameBits);
  stop = true;
  busy.join();
  EXPECT_EQ(differing, 0);
}

}  // namespace
}  // namespace regard::test
