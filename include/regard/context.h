// Threads and reusable scratch memory. One context serves any number of threads calling at once;
// it survives fork (the child makes its own threads on first use).
#pragma once

#include <memory>

#include "regard/export.h"

namespace regard {

/// A caller's own threads; a null `run` leaves it to the library's own.
/// `run(user, workers, task, state)` calls task(state, w) once for every w in [0, workers), in
/// parallel or one after another, and returns when all have ended.
struct Executor {
  using Task = void (*)(void* state, int worker);
  using Run = void (*)(void* user, int workers, Task task, void* state);
  Run run = nullptr;
  void* user = nullptr;
  int threads = 0;  ///< how many workers may run at once; below 1 counts as 1
};

struct ContextState;

class REGARD_API Context {
 public:
  /// threads <= 0: OMP_NUM_THREADS if set, else the CPUs this process may run on; at most 1024 are
  /// taken. They start at the first call that uses them.
  explicit Context(int threads = 0) noexcept;
  explicit Context(const Executor& executor) noexcept;
  ~Context();
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;

  int threads() const noexcept;

  /// Internal handle; null when the context could not be made for lack of memory.
  ContextState* state() const noexcept { return state_.get(); }

 private:
  struct Free {
    void operator()(ContextState* state) const noexcept;
  };
  std::unique_ptr<ContextState, Free> state_;
};

}  // namespace regard
