#include "openmp.h"

#if defined(__linux__)
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <atomic>
#include <string>
#include <string_view>

namespace regard::python {
namespace {

/// `#pragma omp parallel` as compilers call it, in GNU's, LLVM's and Intel's runtimes alike: every
/// thread of a team of at most `threads` calls function(data) once.
using Parallel = void (*)(void (*function)(void*), void* data, unsigned threads, unsigned flags);

struct Team {
  Executor::Task task;
  void* state;
  int workers;
  std::atomic<int> next = 0;
};

/// The runtime may give fewer threads than workers: whoever is free takes the next one.
void take_workers(void* data) {
  Team& team = *static_cast<Team*>(data);
  for (int worker; (worker = team.next.fetch_add(1, std::memory_order_relaxed)) < team.workers;) {
    team.task(team.state, worker);
  }
}

void run_team(void* parallel, int workers, Executor::Task task, void* state) {
  Team team{task, state, workers};
  reinterpret_cast<Parallel>(parallel)(take_workers, &team, unsigned(workers), 0);
}

/// Keeps the path of a runtime; stops at PyTorch's.
int look_at_library(dl_phdr_info* library, std::size_t, void* found) {
  const std::string_view path = library->dlpi_name;
  const std::string_view file = path.substr(path.rfind('/') + 1);
  for (const std::string_view name : {"libgomp", "libiomp5", "libomp"}) {
    if (!file.starts_with(name)) continue;
    *static_cast<std::string*>(found) = path;
    return path.find("/torch") != std::string_view::npos;
  }
  return 0;
}

void* find_parallel() {
  std::string path;
  dl_iterate_phdr(look_at_library, &path);
  if (path.empty()) return nullptr;
  void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  return library ? dlsym(library, "GOMP_parallel") : nullptr;
}

std::atomic<bool> forked = false;

}  // namespace

const Context* openmp_context(int threads) {
  static void* const parallel = find_parallel();
  static const bool watched = pthread_atfork(nullptr, nullptr, [] { forked = true; }) == 0;
  if (!parallel || !watched || forked.load(std::memory_order_relaxed)) return nullptr;
  static const Context* const context = new Context(Executor{run_team, parallel, threads});
  return context;
}

}  // namespace regard::python

#else

namespace regard::python {

const Context* openmp_context(int) {
  return nullptr;
}

}  // namespace regard::python

#endif
