// A set of threads that runs a task once per worker. Two implementations share this face:
// threads_pthreadpool.cpp and threads_std.cpp; the build takes one.
#pragma once

#include <memory>

#include "regard/context.h"

namespace regard::run {

class Threads {
 public:
  /// Null when the threads cannot be made.
  static std::unique_ptr<Threads> make(int count) noexcept;
  virtual ~Threads() = default;

  /// What starts them: "pthreadpool" or "std::thread".
  static const char* const kName;

  /// Calls task(state, w) for every w in [0, workers), workers <= count, and waits for all.
  /// Callers on several threads take turns.
  virtual void run(int workers, Executor::Task task, void* state) noexcept = 0;
};

}  // namespace regard::run
