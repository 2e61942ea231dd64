// Rings: which tokens are held, which pages that takes, how far a trim goes back.
#include <gtest/gtest.h>

#include "cache/tokens.h"

namespace regard::test {
namespace {

KvCacheOptions ring(std::int64_t window, std::int64_t keep_first, std::int64_t pages = 8) {
  KvCacheOptions options = small_options(pages);
  options.window = window;
  options.keep_first = keep_first;
  return options;
}

TEST(Ring, HoldsTheFirstAndTheLastTokens) {
  KvCache cache = make_cache(ring(20, 5));
  const std::int64_t n = added(cache);
  const Tokens all = append_random(cache, n, 100, 1);
  EXPECT_EQ(cache.length(n), 100);
  EXPECT_EQ(cache.held_from(n), 80);
  EXPECT_EQ(cache.free_pages(), 8 - 3);  // pages 0, 5 and 6
  EXPECT_TRUE(holds(cache, n, 0, part(all, 0, 5)));
  EXPECT_TRUE(holds(cache, n, 80, part(all, 80, 20)));
}

// Token by token, in any page size: the same tokens are held, and no more pages than they lie in.
TEST(Ring, HoldsTheSameTokensWhateverThePages) {
  for (const std::int64_t page_tokens : {16, 48, 256}) {
    KvCacheOptions options = ring(37, 3, 512 / page_tokens);
    options.page_tokens = page_tokens;
    KvCache cache = make_cache(options);
    const std::int64_t n = added(cache);
    const Tokens all = random_tokens(options, 300, 1);
    for (std::int64_t t = 0; t < 300; ++t) {
      ASSERT_TRUE(append(cache, n, part(all, t, 1)).ok());
      const std::int64_t held = std::max<std::int64_t>(3, t + 1 - 37);
      ASSERT_EQ(cache.held_from(n), held);
      if (t >= held) {
        ASSERT_TRUE(holds(cache, n, held, part(all, held, t + 1 - held)));
      }
      ASSERT_TRUE(holds(cache, n, 0, part(all, 0, std::min<std::int64_t>(t + 1, 3))));
      const std::int64_t last = t / page_tokens, first = held / page_tokens;
      ASSERT_EQ(options.pages - cache.free_pages(),
                first > last ? 1 : last - first + 1 + (first > 0));
    }
  }
}

// A pool of as many pages as a ring ever needs serves for ever: what the append itself gives back
// counts.
TEST(Ring, LivesInAPoolOfItsOwnSize) {
  KvCache cache = make_cache(ring(16, 0, 2));
  const std::int64_t n = added(cache);
  for (std::uint64_t t = 0; t < 100; ++t) append_random(cache, n, 1, t);
  const Tokens last = append_random(cache, n, 1000, 7);  // mostly dropped at once
  EXPECT_TRUE(holds(cache, n, cache.length(n) - 16, part(last, 984, 16)));
  EXPECT_EQ(cache.held_from(n), 1100 - 16);
}

// The number of pages that docs/kv-cache.md says a ring never exceeds, reached by none too few.
TEST(Ring, NeedsNoMorePagesThanTheDocumentSays) {
  for (const std::int64_t window : {1, 16, 17, 18, 33}) {
    for (const std::int64_t keep_first : {0, 1, 16, 20}) {
      for (const std::int64_t spare : {0, 7}) {
        const std::int64_t most = (keep_first + 15) / 16 + (window + spare - 1 + 15) / 16 + 1;
        KvCacheOptions options = ring(window, keep_first, most);
        options.spare = spare;
        KvCache cache = make_cache(options);
        const std::int64_t n = added(cache);
        std::int64_t fewest_free = most;
        for (std::uint64_t step = 0; step < 120; ++step) {
          append_random(cache, n, step % 4 == 3 ? 50 : 1, step);
          fewest_free = std::min(fewest_free, cache.free_pages());
        }
        EXPECT_EQ(fewest_free, 0) << window << " " << keep_first << " " << spare;
      }
    }
  }
}

TEST(Ring, LeavesPagesOfAForkAlone) {
  KvCache cache = make_cache(ring(16, 0, 4));
  const std::int64_t a = added(cache);
  const Tokens start = append_random(cache, a, 24, 1);
  const std::int64_t b = forked(cache, a);
  const Tokens more = append_random(cache, a, 24, 2);
  EXPECT_TRUE(holds(cache, b, 8, part(start, 8, 16)));
  EXPECT_TRUE(holds(cache, a, 32, part(more, 8, 16)));
  EXPECT_EQ(cache.free_pages(), 1);
}

TEST(Ring, DroppedTokensAreNotGathered) {
  KvCache cache = make_cache(ring(20, 5));
  const std::int64_t n = added(cache);
  append_random(cache, n, 100, 1);
  for (const std::int64_t begin : {4, 5, 79}) {
    Tokens to(cache.options(), 2);
    const Status status = cache.gather(n, begin, to.k.tensor(), to.v.tensor());
    EXPECT_EQ(status.message(), "begin: tokens [" + std::to_string(begin) + ", " +
                                    std::to_string(begin + 2) + ") meet those dropped, [5, 80)");
    EXPECT_EQ(to.k.unwritten(), element_count(to.k.shape()));
  }
}

TEST(Ring, TrimsByItsSpareTokensOnly) {
  KvCacheOptions options = ring(20, 5);
  options.spare = 4;
  KvCache cache = make_cache(options);
  const std::int64_t n = added(cache);
  const Tokens all = append_random(cache, n, 100, 1);
  EXPECT_EQ(cache.trim(n, 95).message(),
            "length: 95 needs the tokens from 75 on, but those before 76 have been dropped");
  EXPECT_EQ(cache.length(n), 100);
  ASSERT_TRUE(cache.trim(n, 98).ok());
  ASSERT_TRUE(cache.trim(n, 96).ok());
  EXPECT_EQ(cache.held_from(n), 76);
  EXPECT_TRUE(holds(cache, n, 76, part(all, 76, 20)));
  EXPECT_FALSE(cache.trim(n, 95).ok());
  const Tokens more = append_random(cache, n, 3, 2);
  EXPECT_TRUE(holds(cache, n, 79, part(all, 79, 17)));
  EXPECT_TRUE(holds(cache, n, 96, more));
  EXPECT_FALSE(cache.trim(n, 95).ok());  // what is gone stays gone
}

TEST(Ring, TrimsToItsFirstTokensAndStartsAnew) {
  KvCache cache = make_cache(ring(20, 5));
  const std::int64_t n = added(cache);
  const Tokens all = append_random(cache, n, 100, 1);
  EXPECT_FALSE(cache.trim(n, 6).ok());
  ASSERT_TRUE(cache.trim(n, 5).ok());
  EXPECT_EQ(cache.free_pages(), 7);
  EXPECT_EQ(cache.held_from(n), 5);
  const Tokens more = append_random(cache, n, 19, 2);
  EXPECT_TRUE(holds(cache, n, 0, part(all, 0, 5)));
  EXPECT_TRUE(holds(cache, n, 5, more));
  ASSERT_TRUE(cache.trim(n, 10).ok());  // nothing has been dropped since
  ASSERT_TRUE(cache.trim(n, 0).ok());
  EXPECT_EQ(cache.free_pages(), 8);
}

TEST(Ring, WithoutAWindowKeepsAll) {
  KvCache cache = make_cache(ring(-1, 5));
  const std::int64_t n = added(cache);
  const Tokens all = append_random(cache, n, 100, 1);
  EXPECT_EQ(cache.held_from(n), 5);
  EXPECT_TRUE(holds(cache, n, 0, all));
}

}  // namespace
}  // namespace regard::test
