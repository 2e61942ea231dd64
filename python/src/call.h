// Runs the engine without the GIL: which context serves, and how ctrl-C stops a long call.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include "array.h"
#include "raise.h"
#include "regard/context.h"
#include "regard/options.h"
#include "regard/status.h"

namespace regard::python {

/// What serves a call on arrays of a library: PyTorch's own threads for tensors, where they can be
/// had, else those of a context that is made at the first call. Neither is ever destroyed: daemon
/// threads may be in a call while the process ends. Where `options` name no number of threads,
/// tensors get torch.get_num_threads(). A call made by a signal handler, while its own thread is
/// inside the engine, gets a single thread: the others may be in use.
const Context& serving(Kind kind, Options& options);

/// Takes the GIL back; never returns where the interpreter is ending.
void take_gil(PyThreadState* state);

/// Releases the GIL for its lifetime.
class NoGil {
 public:
  NoGil() : state_(PyEval_SaveThread()) {}
  ~NoGil() { take_gil(state_); }
  NoGil(const NoGil&) = delete;
  NoGil& operator=(const NoGil&) = delete;

 private:
  PyThreadState* state_;
};

/// Releases the GIL for its lifetime and lets Python's signal handlers run from time to time.
/// `cancel` is for Options: true once a handler has raised, the error then being set on return.
class Released {
 public:
  Released();
  ~Released();
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

  std::function<bool()> cancel();

 private:
  bool poll();

  const std::thread::id thread_ = std::this_thread::get_id();
  std::int64_t next_ns_;
  std::atomic<bool> stopped_ = false;
  PyThreadState* state_;
};

/// Calls `body` without the GIL and raises what its Status says. `body` gets the cancel hook.
template <class Body>
void run_engine(const Body& body) {
  Status status;
  {
    Released released;
    status = body(released.cancel());
  }
  require(status);
}

}  // namespace regard::python
