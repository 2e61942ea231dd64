#include "call.h"

#include <algorithm>
#include <chrono>

#include "libraries.h"
#include "openmp.h"

namespace regard::python {
namespace {

/// How long ctrl-C waits at most, beside the work item under way. Asking costs a turn of the GIL,
/// which another thread may hold for 5 ms.
constexpr std::int64_t kPollInterval = 100'000'000;

thread_local int handlers_under_way = 0;

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace

const Context& serving(Kind kind, Options& options) {
  static const Context& shared = *new Context;
  if (handlers_under_way > 0) {
    static thread_local const Context own(1);
    return own;
  }
  if (kind != Kind::torch) return shared;
  if (options.threads == 0) options.threads = std::min(torch_threads(), shared.threads());
  const Context* const openmp = openmp_context(shared.threads());
  return openmp ? *openmp : shared;
}

void take_gil(PyThreadState* state) {
  try {
    PyEval_RestoreThread(state);
  } catch (ThreadEnd&) {
    wait_for_end();
  }
}

Released::Released() : next_ns_(now_ns() + kPollInterval), state_(PyEval_SaveThread()) {}

Released::~Released() {
  take_gil(state_);
}

std::function<bool()> Released::cancel() {
  return [this] { return poll(); };
}

bool Released::poll() {
  if (stopped_.load(std::memory_order_relaxed)) return true;
  // Signals are handled by the main thread alone, and the GIL state saved is this thread's.
  if (std::this_thread::get_id() != thread_ || now_ns() < next_ns_) return false;
  take_gil(state_);
  ++handlers_under_way;
  const bool raised = PyErr_CheckSignals() != 0;
  --handlers_under_way;
  if (raised) stopped_.store(true, std::memory_order_relaxed);
  state_ = PyEval_SaveThread();
  next_ns_ = now_ns() + kPollInterval;
  return stopped_.load(std::memory_order_relaxed);
}

}  // namespace regard::python
