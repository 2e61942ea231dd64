#include "regard/kv_cache.h"

#include "base/guard.h"
#include "cache/state.h"
#include "cache/view.h"

namespace regard {
namespace {

/// Calls `call` with the state of a cache that was created.
template <class State, class Call>
Status with_state(State* state, const Call& call) noexcept {
  return base::guarded([&]() -> Status {
    if (!state) return cache::not_created();
    return call(*state);
  });
}

}  // namespace

KvCache::KvCache() noexcept = default;
KvCache::~KvCache() = default;
KvCache::KvCache(KvCache&&) noexcept = default;
KvCache& KvCache::operator=(KvCache&&) noexcept = default;

void KvCache::Free::operator()(KvCacheState* state) const noexcept {
  delete state;
}

Status KvCache::create(const KvCacheOptions& options, KvCache& cache) noexcept {
  return base::guarded([&] {
    std::unique_ptr<KvCacheState> state;
    Status status = cache::create(options, state);
    if (status.ok()) cache.state_.reset(state.release());
    return status;
  });
}

Status KvCache::add(std::int64_t& sequence) noexcept {
  return with_state(state_.get(), [&](KvCacheState& state) { return cache::add(state, sequence); });
}

Status KvCache::remove(std::int64_t sequence) noexcept {
  return with_state(state_.get(),
                    [&](KvCacheState& state) { return cache::remove(state, sequence); });
}

Status KvCache::fork(std::int64_t sequence, std::int64_t& copy) noexcept {
  return with_state(state_.get(),
                    [&](KvCacheState& state) { return cache::fork(state, sequence, copy); });
}

Status KvCache::append(std::int64_t sequence, const ConstTensor& k, const ConstTensor& v) noexcept {
  return with_state(state_.get(),
                    [&](KvCacheState& state) { return cache::append(state, sequence, k, v); });
}

Status KvCache::trim(std::int64_t sequence, std::int64_t length) noexcept {
  return with_state(state_.get(),
                    [&](KvCacheState& state) { return cache::trim(state, sequence, length); });
}

Status KvCache::gather(std::int64_t sequence, std::int64_t begin, const Tensor& k,
                       const Tensor& v) const noexcept {
  const KvCacheState* made = state_.get();
  return with_state(
      made, [&](const KvCacheState& state) { return cache::gather(state, sequence, begin, k, v); });
}

const KvCacheOptions& KvCache::options() const noexcept {
  static const KvCacheOptions none;
  return state_ ? state_->options : none;
}

std::int64_t KvCache::length(std::int64_t sequence) const noexcept {
  const cache::Sequence* found = state_ ? cache::find(*state_, sequence) : nullptr;
  return found ? found->length : -1;
}

std::int64_t KvCache::held_from(std::int64_t sequence) const noexcept {
  const cache::Sequence* found = state_ ? cache::find(*state_, sequence) : nullptr;
  return found ? cache::held_from(state_->options, found->length) : -1;
}

std::int64_t KvCache::free_pages() const noexcept {
  return state_ ? state_->pool.free_pages() : 0;
}

std::int64_t KvCache::bytes_used() const noexcept {
  return state_ ? state_->pool.used_pages() * state_->pool.page_bytes() : 0;
}

std::int64_t KvCache::bytes_reserved() const noexcept {
  return state_ ? state_->pool.bytes() : 0;
}

}  // namespace regard
