// The caller's own threads: any order, any thread, never more workers than it has.
#include <stdexcept>
#include <thread>
#include <vector>

#include "run/job.h"

namespace regard::test {
namespace {

/// An executor that counts how it is called.
struct Recorder {
  int calls = 0;
  int most_workers = 0;

  void count(int workers) {
    ++calls;
    most_workers = std::max(most_workers, workers);
  }
};

void in_order(void* user, int workers, Executor::Task task, void* state) {
  static_cast<Recorder*>(user)->count(workers);
  for (int worker = 0; worker < workers; ++worker) task(state, worker);
}

void reversed(void* user, int workers, Executor::Task task, void* state) {
  static_cast<Recorder*>(user)->count(workers);
  for (int worker = workers - 1; worker >= 0; --worker) task(state, worker);
}

void in_parallel(void* user, int workers, Executor::Task task, void* state) {
  static_cast<Recorder*>(user)->count(workers);
  std::vector<std::thread> threads;
  for (int worker = 0; worker < workers; ++worker) threads.emplace_back(task, state, worker);
  for (std::thread& thread : threads) thread.join();
}

template <class T>
void expect_same_bits(Executor::Run run, int threads) {
  const Job<T> job(2);
  const auto expected = job.run(Context(1));
  Recorder recorder;
  const Context context(Executor{run, &recorder, threads});
  EXPECT_EQ(context.threads(), threads);
  EXPECT_TRUE(job.run(context).same_bits(expected));
  EXPECT_GT(recorder.calls, 0);
  EXPECT_LE(recorder.most_workers, threads);
  EXPECT_GT(recorder.most_workers, 1);
}

TEST(ExecutorHook, GivesTheSameBitsInOrder) {
  expect_same_bits<float>(in_order, 3);
  expect_same_bits<double>(in_order, 4);
}

TEST(ExecutorHook, GivesTheSameBitsReversed) {
  expect_same_bits<float>(reversed, 2);
  expect_same_bits<double>(reversed, 5);
}

TEST(ExecutorHook, GivesTheSameBitsInParallel) {
  expect_same_bits<float>(in_parallel, 4);
  expect_same_bits<double>(in_parallel, 2);
}

TEST(ExecutorHook, IsNeverAskedForMoreWorkersThanItHas) {
  Job<float> job(3);
  Recorder recorder;
  const Context context(Executor{in_order, &recorder, 2});
  job.options.threads = 4;
  EXPECT_TRUE(job.run(context).status.ok());
  EXPECT_LE(recorder.most_workers, 2);
  EXPECT_LE(job.plan(context).threads, 2);
}

TEST(ExecutorHook, MayHaveNoThreads) {
  const Job<float> job(4);
  const auto expected = job.run(Context(1));
  for (const int threads : {0, -3}) {
    Recorder recorder;
    const Context context(Executor{in_order, &recorder, threads});
    EXPECT_TRUE(job.run(context).same_bits(expected));
    EXPECT_LE(recorder.most_workers, 1);
  }
}

TEST(ExecutorHook, MayBeAbsent) {
  const Job<float> job(5);
  EXPECT_TRUE(job.run(Context(Executor{})).same_bits(job.run(Context(1))));
}

TEST(ExecutorHook, MayServeSeveralCallersAtOnce) {
  const auto run = [](void*, int workers, Executor::Task task, void* state) {
    for (int worker = 0; worker < workers; ++worker) task(state, worker);
  };
  const Job<double> job(6);
  const auto expected = job.run(Context(1));
  const Context context(Executor{run, nullptr, 3});
  std::vector<int> agree(4, 0);
  std::vector<std::thread> callers;
  for (int& same : agree)
    callers.emplace_back([&] { same = job.run(context).same_bits(expected); });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(agree, std::vector<int>(4, 1));
}

TEST(ExecutorHook, ThatThrowsGivesAStatus) {
  const auto run = [](void*, int, Executor::Task, void*) { throw std::runtime_error("no"); };
  const Context context(Executor{run, nullptr, 2});
  const auto result = Job<float>(7).run(context);
  EXPECT_EQ(result.status.code(), StatusCode::internal);
  EXPECT_FALSE(result.status.message().empty());
}

}  // namespace
}  // namespace regard::test
