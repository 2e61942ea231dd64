// What a Context owns: threads and scratch memory, shared safely by calls on several threads and
// made anew in a forked child.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/aligned_buffer.h"
#include "regard/context.h"
#include "run/threads.h"

namespace regard {
namespace run {

/// How many threads a context takes that is not told, and what decides that.
struct DefaultThreads {
  int count;
  const char* reason;
};
DefaultThreads default_threads() noexcept;

}  // namespace run

struct ContextState {
  explicit ContextState(int wanted_threads) noexcept;
  explicit ContextState(const Executor& given) noexcept;
  ~ContextState();
  ContextState(const ContextState&) = delete;
  ContextState& operator=(const ContextState&) = delete;

  /// Runs task(state, w) for w in [0, workers). Falls back to one after another when threads
  /// cannot be had.
  void run(int workers, Executor::Task task, void* task_state);

  /// A buffer of at least `bytes`; empty when there is no memory. Give it back with `give_back`.
  base::AlignedBuffer borrow(std::int64_t bytes);
  void give_back(base::AlignedBuffer buffer) noexcept;

  int threads = 1;
  Executor executor;

 private:
  // Belongs to one process: a forked child has neither the threads nor a trustworthy mutex of its
  // parent, so it leaves the parent's copy alone and makes its own.
  struct Resources {
    std::uint64_t process = 0;
    std::mutex mutex;
    std::unique_ptr<run::Threads> pool;
    std::vector<base::AlignedBuffer> buffers;
  };
  Resources* resources();

  std::atomic<Resources*> resources_ = nullptr;
};

}  // namespace regard
