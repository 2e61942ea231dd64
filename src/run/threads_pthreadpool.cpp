// Threads kept by pthreadpool, which wakes them in microseconds.
#include <pthreadpool.h>

#include <new>

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

}  // namespace

std::unique_ptr<Threads> Threads::make(int count) noexcept {
  pthreadpool_t pool = pthreadpool_create(std::size_t(count));
  if (!pool) return nullptr;
  std::unique_ptr<Threads> threads(new (std::nothrow) PthreadpoolThreads(pool));
  if (!threads) pthreadpool_destroy(pool);
  return threads;
}

}  // namespace regard::run
