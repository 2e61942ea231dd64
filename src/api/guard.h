// Turns whatever escapes the inside of a public call into a Status.
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
    return {StatusCode::out_of_memory, {}};
  } catch (...) {
    return {StatusCode::internal, {}};
  }
}

}  // namespace regard::api
