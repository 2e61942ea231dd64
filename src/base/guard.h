// The wall around every public call: whatever escapes its inside becomes a Status, and the caller's
// floating-point environment (rounding, exceptions, flushing) neither reaches it nor is changed.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>

#include "base/default_floating_point.h"
#include "regard/status.h"

namespace regard::base {

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
