#include "regard/context.h"

#include <new>

#include "run/context_state.h"

namespace regard {

Context::Context(int threads) noexcept : state_(new (std::nothrow) ContextState(threads)) {}
Context::Context(const Executor& executor) noexcept
    : state_(new (std::nothrow) ContextState(executor)) {}
Context::~Context() = default;
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;

int Context::threads() const noexcept {
  return state_ ? state_->threads : 0;
}

void Context::Free::operator()(ContextState* state) const noexcept {
  delete state;
}

}  // namespace regard
