// Threads started for each call with std::thread: slower to start, simple, visible to sanitizers.
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "run/threads.h"

namespace regard::run {
namespace {

class StdThreads final : public Threads {
 public:
  void run(int workers, Executor::Task task, void* state) noexcept override {
    std::vector<std::thread> started;
    int worker = 1;
    try {
      started.reserve(std::size_t(workers));
      for (; worker < workers; ++worker) started.emplace_back(task, state, worker);
    } catch (const std::exception&) {
      // Too few threads or too little memory: the caller does the rest itself.
    }
    task(state, 0);
    for (; worker < workers; ++worker) task(state, worker);
    for (std::thread& thread : started) thread.join();
  }
};

}  // namespace

const char* const Threads::kName = "std::thread";

std::unique_ptr<Threads> Threads::make(int) noexcept {
  return std::unique_ptr<Threads>(new (std::nothrow) StdThreads);
}

}  // namespace regard::run
