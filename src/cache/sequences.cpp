// Sequences come, go, share their pages and become shorter. No number of a token is touched.
#include <algorithm>
#include <string>
#include <utility>

#include "base/status_text.h"
#include "cache/state.h"

namespace regard::cache {
namespace {

using base::invalid;
using std::to_string;

/// Gives pages [from, end) of a sequence back.
void release_pages(PagePool& pool, Sequence& sequence, std::int64_t from) noexcept {
  for (auto n = std::size_t(from); n < sequence.pages.size(); ++n) {
    if (sequence.pages[n] >= 0) pool.release(sequence.pages[n]);
  }
  sequence.pages.resize(std::min(sequence.pages.size(), std::size_t(from)));
}

/// Room for one more sequence, and for every number in `unused`.
void make_room(KvCacheState& state) {
  if (!state.unused.empty()) return;
  state.sequences.emplace_back();
  const auto number = std::int64_t(state.sequences.size()) - 1;
  try {
    state.unused.reserve(state.sequences.capacity());
  } catch (...) {
    state.sequences.pop_back();
    throw;
  }
  state.unused.push_back(number);
}

std::int64_t enter(KvCacheState& state, Sequence sequence) {
  make_room(state);
  const std::int64_t number = state.unused.back();
  state.unused.pop_back();
  sequence.living = true;
  state.sequences[std::size_t(number)] = std::move(sequence);
  return number;
}

}  // namespace

std::int64_t held_from(const KvCacheOptions& options, std::int64_t length) noexcept {
  if (options.window < 0) return options.keep_first;
  return std::max(options.keep_first, length - options.window);
}

const Sequence* find(const KvCacheState& state, std::int64_t number) noexcept {
  if (number < 0 || number >= std::int64_t(state.sequences.size())) return nullptr;
  const Sequence& sequence = state.sequences[std::size_t(number)];
  return sequence.living ? &sequence : nullptr;
}

std::string not_living(const KvCacheState& state, std::int64_t number) {
  return to_string(number) + " is none of the " +
         to_string(state.sequences.size() - state.unused.size()) + " that live";
}

Status find(const KvCacheState& state, std::int64_t number, const Sequence*& sequence) {
  sequence = find(state, number);
  return sequence ? Status() : invalid("sequence: " + not_living(state, number));
}

Status find(KvCacheState& state, std::int64_t number, Sequence*& sequence) {
  const Sequence* found = nullptr;
  Status status = find(state, number, found);
  sequence = const_cast<Sequence*>(found);
  return status;
}

Status add(KvCacheState& state, std::int64_t& number) {
  Sequence sequence;
  sequence.dropped_to = state.options.keep_first;
  number = enter(state, std::move(sequence));
  return {};
}

Status remove(KvCacheState& state, std::int64_t number) {
  Sequence* sequence = nullptr;
  if (Status status = find(state, number, sequence); !status.ok()) return status;
  release_pages(state.pool, *sequence, 0);
  *sequence = {};
  state.unused.push_back(number);  // make_room has reserved
  return {};
}

Status fork(KvCacheState& state, std::int64_t number, std::int64_t& copy) {
  Sequence* sequence = nullptr;
  if (Status status = find(state, number, sequence); !status.ok()) return status;
  copy = enter(state, Sequence(*sequence));
  for (const std::int32_t page : state.sequences[std::size_t(copy)].pages) {
    if (page >= 0) state.pool.share(page);
  }
  return {};
}

Status trim(KvCacheState& state, std::int64_t number, std::int64_t length) {
  Sequence* sequence = nullptr;
  if (Status status = find(state, number, sequence); !status.ok()) return status;
  if (length < 0 || length > sequence->length) {
    return invalid("length: " + to_string(length) + " is not in [0, " +
                   to_string(sequence->length) + "], the tokens of sequence " + to_string(number));
  }
  const std::int64_t keep_first = state.options.keep_first;
  const std::int64_t needed = held_from(state.options, length);
  if (length > keep_first && needed < sequence->dropped_to) {
    return invalid("length: " + to_string(length) + " needs the tokens from " + to_string(needed) +
                   " on, but those before " + to_string(sequence->dropped_to) +
                   " have been dropped");
  }
  const std::int64_t page_tokens = state.options.page_tokens;
  release_pages(state.pool, *sequence, (length + page_tokens - 1) / page_tokens);
  sequence->length = length;
  if (length <= keep_first) sequence->dropped_to = keep_first;
  return {};
}

}  // namespace regard::cache
