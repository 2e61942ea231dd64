// Bookkeeping that gets no memory: whichever allocation of a call fails, nothing has changed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "cache/tokens.h"

namespace {

/// Allocations until one fails; below 0: none does.
thread_local int allocations_left = -1;

void* allocate(std::size_t bytes) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  void* memory = std::malloc(bytes > 0 ? bytes : 1);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) {
  return allocate(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace regard::test {
namespace {

/// Calls `call` until it is given all the memory it asks for; after each failure `unchanged` is
/// looked at. Returns how often it failed.
template <class Call, class Unchanged>
int fail_each_allocation(const Call& call, const Unchanged& unchanged) {
  for (int failures = 0;; ++failures) {
    allocations_left = failures;
    const StatusCode code = call().code();
    allocations_left = -1;
    if (code == StatusCode::ok) return failures;
    EXPECT_EQ(code, StatusCode::out_of_memory);
    unchanged();
    if (failures > 50) return -1;
  }
}

TEST(Memory, MayRunOutInAnyAllocation) {
  KvCache cache;
  const auto create = [&] { return KvCache::create(small_options(), cache); };
  EXPECT_GE(fail_each_allocation(create, [&] { EXPECT_EQ(cache.state(), nullptr); }), 3);

  std::int64_t a = -7, b = -7;
  EXPECT_GE(fail_each_allocation([&] { return cache.add(a); }, [&] { EXPECT_EQ(a, -7); }), 2);
  const Tokens first = random_tokens(cache.options(), 20, 1);
  const auto append_first = [&] { return append(cache, a, first); };
  const auto still_empty = [&] {
    EXPECT_EQ(cache.length(a), 0);
    EXPECT_EQ(cache.free_pages(), 8);
  };
  EXPECT_GE(fail_each_allocation(append_first, still_empty), 2);
  const auto fork = [&] { return cache.fork(a, b); };
  const auto not_forked = [&] {
    EXPECT_EQ(b, -7);
    EXPECT_EQ(cache.free_pages(), 6);
  };
  EXPECT_GE(fail_each_allocation(fork, not_forked), 2);
  const Tokens second = random_tokens(cache.options(), 20, 2);
  const auto append_second = [&] { return append(cache, b, second); };
  const auto still_shared = [&] {
    EXPECT_EQ(cache.length(b), 20);
    EXPECT_EQ(cache.free_pages(), 6);
    EXPECT_TRUE(holds(cache, b, 0, first));
  };
  EXPECT_GE(fail_each_allocation(append_second, still_shared), 1);
  EXPECT_TRUE(holds(cache, a, 0, first));
  EXPECT_TRUE(holds(cache, b, 20, second));
}

// What gives memory back needs none.
TEST(Memory, IsNotNeededToTrimAndRemove) {
  KvCache cache = make_cache(small_options());
  std::vector<std::int64_t> numbers;
  for (std::uint64_t n = 0; n < 8; ++n) {
    numbers.push_back(added(cache));
    append_random(cache, numbers.back(), 10, n);
  }
  allocations_left = 0;
  int failures = 0;
  for (const std::int64_t n : numbers) {
    failures += !cache.trim(n, 3).ok();
    failures += !cache.remove(n).ok();
  }
  allocations_left = -1;
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(cache.free_pages(), 8);
}

}  // namespace
}  // namespace regard::test
