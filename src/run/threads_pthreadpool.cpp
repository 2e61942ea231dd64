// Threads kept by pthreadpool, which wakes them in microseconds.
#include <pthreadpool.h>

#include <atomic>
#include <exception>
#include <new>
#include <thread>
#include <vector>

#include "run/threads.h"

namespace regard::run {
namespace {

struct Call {
  Executor::Task task;
  void* state;
};

void run_worker(void* call, std::size_t worker) {
  const auto* const c = static_cast<const Call*>(call);
  c->task(c->state, int(worker));
}

class PthreadpoolThreads final : public Threads {
 public:
  explicit PthreadpoolThreads(pthreadpool_t pool) noexcept : pool_(pool) {}
  ~PthreadpoolThreads() override { pthreadpool_destroy(pool_); }
  PthreadpoolThreads(const PthreadpoolThreads&) = delete;
  PthreadpoolThreads& operator=(const PthreadpoolThreads&) = delete;

  void run(int workers, Executor::Task task, void* state) noexcept override {
    Call call{task, state};
    pthreadpool_parallelize_1d(pool_, run_worker, &call, std::size_t(workers), 0);
  }

 private:
  pthreadpool_t pool_;
};

/// The pool does not notice when a thread of its own fails to start, and would wait for it for
/// ever: starting as many beforehand shows whether the system allows it.
bool can_start(int count) noexcept {
  std::vector<std::thread> threads;
  std::atomic_flag go;
  bool started = true;
  try {
    threads.reserve(std::size_t(count));
    for (int n = 0; n < count; ++n) threads.emplace_back([&go] { go.wait(false); });
  } catch (const std::exception&) {
    started = false;
  }
  go.test_and_set();
  go.notify_all();
  for (std::thread& thread : threads) thread.join();
  return started;
}

}  // namespace

const char* const Threads::kName = "pthreadpool";

std::unique_ptr<Threads> Threads::make(int count) noexcept {
  if (!can_start(count - 1)) return nullptr;
  pthreadpool_t pool = pthreadpool_create(std::size_t(count));
  if (!pool) return nullptr;
  std::unique_ptr<Threads> threads(new (std::nothrow) PthreadpoolThreads(pool));
  if (!threads) pthreadpool_destroy(pool);
  return threads;
}

}  // namespace regard::run
