// Independent work items in flight: workers take the next one until none is left.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "base/aligned_buffer.h"
#include "regard/status.h"
#include "run/context_state.h"

namespace regard::run {

/// A hook that throws has nothing better to say than stop.
inline bool wants_cancel(const std::function<bool()>& cancel) noexcept {
  try {
    return cancel && cancel();
  } catch (...) {
    return true;
  }
}

/// Calls work(item, worker) once for every item in [0, items); false where the hook stopped it.
template <class Work>
bool fly(ContextState& context, int workers, std::int64_t items,
         const std::function<bool()>& cancel, const Work& work) {
  struct Flight {
    const Work& work;
    const std::function<bool()>& cancel;
    std::int64_t items;
    std::atomic<std::int64_t> next = 0;
    std::atomic<bool> cancelled = false;
  };
  Flight flight{work, cancel, items};
  const auto take_items = [](void* state, int worker) {
    auto& own = *static_cast<Flight*>(state);
    while (!own.cancelled.load(std::memory_order_relaxed)) {
      const std::int64_t item = own.next.fetch_add(1, std::memory_order_relaxed);
      if (item >= own.items) return;
      if (wants_cancel(own.cancel)) {
        own.cancelled = true;
        return;
      }
      own.work(item, worker);
    }
  };
  context.run(workers, take_items, &flight);
  return !flight.cancelled;
}

/// The scratch of one call: the caller's, or borrowed from the context until the end.
class CallScratch {
 public:
  CallScratch(ContextState& context, std::span<std::byte> given, std::int64_t bytes)
      : context_(context), bytes_(bytes) {
    // A span of no bytes may still have an address.
    if (given.empty()) borrowed_ = context.borrow(bytes);
    data_ = given.empty() ? borrowed_.data() : given.data();
  }
  ~CallScratch() {
    if (borrowed_.data()) context_.give_back(std::move(borrowed_));
  }
  CallScratch(const CallScratch&) = delete;
  CallScratch& operator=(const CallScratch&) = delete;

  std::byte* data() const noexcept { return data_; }
  Status missing() const {
    return {StatusCode::out_of_memory,
            "scratch: " + std::to_string(bytes_) + " bytes could not be had"};
  }

 private:
  ContextState& context_;
  std::int64_t bytes_;
  base::AlignedBuffer borrowed_;
  std::byte* data_ = nullptr;
};

inline Status stopped() {
  return {StatusCode::cancelled, "cancel: the hook stopped the call"};
}

}  // namespace regard::run
