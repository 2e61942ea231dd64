// The wall around every public call: whatever escapes its inside becomes a Status, and the caller's
// floating-point environment (rounding, exceptions, flushing) neither reaches it nor is changed.
#pragma once

#include <cfenv>
#include <exception>
#include <new>
#include <stdexcept>

#include "regard/status.h"

namespace regard::base {

class DefaultFloatingPoint {
 public:
  DefaultFloatingPoint() noexcept {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatingPoint() { std::fesetenv(&saved_); }
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;

 private:
  std::fenv_t saved_{};
};

/// The sentences of the two last resorts are short enough to need no memory.
template <class Call>
Status guarded(const Call& call) noexcept {
  const DefaultFloatingPoint mode;
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return {StatusCode::out_of_memory, "out of memory"};
  } catch (const std::length_error&) {  // more elements than any list holds
    return {StatusCode::out_of_memory, "out of memory"};
  } catch (...) {
    return {StatusCode::internal, "internal error"};
  }
}

}  // namespace regard::base
