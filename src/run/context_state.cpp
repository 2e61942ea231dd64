#include "run/context_state.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace regard {
namespace {

constexpr std::size_t kMostIdleBuffers = 8;
constexpr int kMostThreads = 1024;

std::atomic<std::uint64_t> process_generation = 1;

/// Changes in every forked child.
std::uint64_t this_process() noexcept {
  static const int registered = pthread_atfork(
      nullptr, nullptr, [] { process_generation.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
  return process_generation.load(std::memory_order_relaxed);
}

}  // namespace

run::DefaultThreads run::default_threads() noexcept {
  if (const char* text = std::getenv("OMP_NUM_THREADS")) {
    const long number = std::strtol(text, nullptr, 10);
    if (number > 0) return {int(std::min<long>(number, kMostThreads)), "OMP_NUM_THREADS"};
  }
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) {
    return {1, "the CPUs this process may run on, unknown here"};
  }
  return {std::max(1, CPU_COUNT(&cpus)), "the CPUs this process may run on"};
}

ContextState::ContextState(int wanted_threads) noexcept
    : threads(wanted_threads > 0 ? std::min(wanted_threads, kMostThreads)
                                 : run::default_threads().count) {}

ContextState::ContextState(const Executor& given) noexcept
    : threads(std::max(1, given.threads)), executor(given) {}

ContextState::~ContextState() {
  Resources* mine = resources_.load();
  if (mine && mine->process == this_process()) delete mine;
}

ContextState::Resources* ContextState::resources() {
  const std::uint64_t process = this_process();
  Resources* current = resources_.load(std::memory_order_acquire);
  if (current && current->process == process) return current;
  auto fresh = std::make_unique<Resources>();
  fresh->process = process;
  if (resources_.compare_exchange_strong(current, fresh.get(), std::memory_order_acq_rel)) {
    return fresh.release();
  }
  return current;
}

void ContextState::run(int workers, Executor::Task task, void* task_state) {
  if (workers > 1 && executor.run) {
    executor.run(executor.user, workers, task, task_state);
    return;
  }
  run::Threads* pool = nullptr;
  if (workers > 1) {
    Resources* mine = resources();
    const std::lock_guard lock(mine->mutex);
    if (!mine->pool) mine->pool = run::Threads::make(threads);
    pool = mine->pool.get();
  }
  if (pool) {
    pool->run(workers, task, task_state);
  } else {
    for (int worker = 0; worker < workers; ++worker) task(task_state, worker);
  }
}

base::AlignedBuffer ContextState::borrow(std::int64_t bytes) {
  Resources* mine = resources();
  {
    const std::lock_guard lock(mine->mutex);
    const auto found = std::ranges::find_if(
        mine->buffers, [&](const auto& buffer) { return buffer.bytes() >= bytes; });
    if (found != mine->buffers.end()) {
      base::AlignedBuffer buffer = std::move(*found);
      mine->buffers.erase(found);
      return buffer;
    }
  }
  return base::AlignedBuffer(bytes);
}

void ContextState::give_back(base::AlignedBuffer buffer) noexcept {
  try {
    Resources* mine = resources();
    const std::lock_guard lock(mine->mutex);
    mine->buffers.push_back(std::move(buffer));
    if (mine->buffers.size() <= kMostIdleBuffers) return;
    mine->buffers.erase(
        std::ranges::min_element(mine->buffers, {}, [](const auto& idle) { return idle.bytes(); }));
  } catch (const std::exception&) {
    // No room to remember it: the buffer is freed here.
  }
}

}  // namespace regard
