// Turns whatever escapes the inside of a public call into a Status. The sentences are short enough
// to need no memory.
#pragma once

#include <exception>
#include <new>

#include "regard/status.h"

namespace regard::api {

template <class Call>
Status guarded(const Call& call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return {StatusCode::out_of_memory, "out of memory"};
  } catch (...) {
    return {StatusCode::internal, "internal error"};
  }
}

}  // namespace regard::api
