// Sequences of a cache: what is appended comes back, pages are taken, shared and given back.
#include <gtest/gtest.h>

#include "cache/definition.h"
#include "cache/tokens.h"

namespace regard::test {
namespace {

TEST(Sequences, HoldWhatWasAppendedWhereverPagesEnd) {
  KvCache cache = make_cache(small_options());
  const std::int64_t n = added(cache);
  EXPECT_EQ(cache.length(n), 0);
  std::int64_t length = 0;
  std::vector<Tokens> parts;
  for (const std::int64_t count : {1, 14, 1, 1, 31, 0, 16}) {
    parts.push_back(append_random(cache, n, count, std::uint64_t(length)));
    length += count;
    EXPECT_EQ(cache.length(n), length);
    EXPECT_EQ(cache.free_pages(), 8 - (length + 15) / 16);
  }
  std::int64_t begin = 0;
  for (const Tokens& tokens : parts) {
    EXPECT_TRUE(holds(cache, n, begin, tokens)) << begin;
    begin += tokens.count();
  }
}

TEST(Sequences, HaveTheirOwnNumbersAndPages) {
  KvCache cache = make_cache(small_options());
  const std::int64_t a = added(cache), b = added(cache);
  EXPECT_NE(a, b);
  const Tokens of_a = append_random(cache, a, 20, 1), of_b = append_random(cache, b, 20, 2);
  const Tokens more = append_random(cache, a, 13, 3);
  EXPECT_TRUE(holds(cache, a, 0, of_a));
  EXPECT_TRUE(holds(cache, a, 20, more));
  EXPECT_TRUE(holds(cache, b, 0, of_b));
  ASSERT_TRUE(cache.remove(a).ok());
  EXPECT_EQ(cache.length(a), -1);
  EXPECT_EQ(cache.held_from(a), -1);
  EXPECT_EQ(cache.free_pages(), 6);
  EXPECT_NE(added(cache), b);
  EXPECT_TRUE(holds(cache, b, 0, of_b));
}

TEST(Sequences, PagesThatComeBackServeAgain) {
  KvCache cache = make_cache(small_options(2));
  for (std::uint64_t round = 0; round < 5; ++round) {
    const std::int64_t n = added(cache);
    EXPECT_TRUE(holds(cache, n, 0, append_random(cache, n, 32, round)));
    ASSERT_TRUE(cache.remove(n).ok());
  }
}

template <class T>
void expect_rounded(KvType type, Layout layout) {
  KvCacheOptions options = small_options();
  options.k_type = type;
  options.v_type = KvType::f32;
  options.k_head_size = 64;
  KvCache cache = make_cache(options);
  const std::int64_t n = added(cache);
  const auto tokens = random_tokens<T>(options, 18, 4, layout);
  ASSERT_TRUE(append(cache, n, tokens).ok());
  const Tokens got = gathered(cache, n, 0, 18);
  for (std::int64_t h = 0; h < 2; ++h) {
    for (std::int64_t s = 0; s < 18; ++s) {
      std::vector<double> row;
      for (std::int64_t d = 0; d < 64; ++d) {
        row.push_back(converted<double>(tokens.k.at(0, h, s, d)));
      }
      const std::vector<double> want = stored_row(type, row);
      for (std::int64_t d = 0; d < 64; ++d) {
        ASSERT_EQ(double(got.k.at(0, h, s, d)), want[std::size_t(d)]);
      }
    }
  }
  EXPECT_EQ(got.v.at(0, 1, 17, 4), converted<float>(tokens.v.at(0, 1, 17, 4)));
}

TEST(Sequences, TakeAnyFloatTypeAtAnyStrides) {
  for (const Layout layout : kInputLayouts) {
    for (const KvType type : {KvType::f16, KvType::int8, KvType::q4_0, KvType::fp8_e5m2}) {
      ASSERT_NO_FATAL_FAILURE(expect_rounded<double>(type, layout));
      ASSERT_NO_FATAL_FAILURE(expect_rounded<float>(type, layout));
      ASSERT_NO_FATAL_FAILURE(expect_rounded<F16>(type, layout));
      ASSERT_NO_FATAL_FAILURE(expect_rounded<BF16>(type, layout));
    }
  }
}

TEST(Sequences, KAndVMayComeInDifferentTypes) {
  KvCache cache = make_cache(small_options());
  const std::int64_t n = added(cache);
  const auto k = random_tokens<BF16>(cache.options(), 3, 1).k;
  const auto v = random_tokens<double>(cache.options(), 3, 1).v;
  ASSERT_TRUE(cache.append(n, k.view(), v.view()).ok());
  const Tokens got = gathered(cache, n, 0, 3);
  EXPECT_TRUE(got.k.same_bits(k.copy<float>()));
  EXPECT_TRUE(got.v.same_bits(v.copy<float>()));
}

template <class T>
void expect_gathered(const KvCache& cache, std::int64_t n, const Tokens& tokens, Layout layout) {
  TokensOf<T> to(cache.options(), tokens.count(), layout);
  ASSERT_TRUE(cache.gather(n, 0, to.k.tensor(), {}).ok());
  EXPECT_EQ(to.v.unwritten(), element_count(to.v.shape()));
  ASSERT_TRUE(cache.gather(n, 0, {}, to.v.tensor()).ok());
  EXPECT_TRUE(to.k.same_bits(tokens.k.copy<T>()) && to.v.same_bits(tokens.v.copy<T>()));
  EXPECT_TRUE(to.k.canaries_intact() && to.v.canaries_intact());
}

TEST(Sequences, AreGatheredIntoAnyFloatTypeAtAnyStrides) {
  KvCache cache = make_cache(small_options());
  const std::int64_t n = added(cache);
  const Tokens tokens = append_random(cache, n, 21, 6);
  for (const Layout layout : kOutputLayouts) {
    expect_gathered<double>(cache, n, tokens, layout);
    expect_gathered<float>(cache, n, tokens, layout);
    expect_gathered<F16>(cache, n, tokens, layout);
    expect_gathered<BF16>(cache, n, tokens, layout);
  }
}

TEST(Forks, ShareUntilOneIsWritten) {
  KvCache cache = make_cache(small_options());
  const std::int64_t a = added(cache);
  const Tokens start = append_random(cache, a, 40, 1);
  const std::int64_t b = forked(cache, a);
  EXPECT_EQ(cache.length(b), 40);
  EXPECT_EQ(cache.free_pages(), 5);
  EXPECT_EQ(cache.bytes_used(), 3 * kSmallPageBytes);
  const Tokens of_b = append_random(cache, b, 3, 2);
  EXPECT_EQ(cache.free_pages(), 4);  // the third page was copied
  const Tokens of_a = append_random(cache, a, 9, 3);
  EXPECT_EQ(cache.free_pages(), 3);  // a's own by now; a fourth page
  EXPECT_TRUE(holds(cache, a, 0, start));
  EXPECT_TRUE(holds(cache, b, 0, start));
  EXPECT_TRUE(holds(cache, a, 40, of_a));
  EXPECT_TRUE(holds(cache, b, 40, of_b));
  ASSERT_TRUE(cache.remove(a).ok());
  EXPECT_EQ(cache.free_pages(), 5);
  EXPECT_TRUE(holds(cache, b, 0, start));
}

TEST(Forks, CopyNothingWhereAPageEnds) {
  KvCache cache = make_cache(small_options());
  const std::int64_t a = added(cache);
  append_random(cache, a, 32, 1);
  const std::int64_t b = forked(cache, a);
  append_random(cache, b, 1, 2);
  append_random(cache, a, 1, 3);
  EXPECT_EQ(cache.free_pages(), 4);
}

TEST(Trims, GivePagesBackAndWriteNoSharedOne) {
  KvCache cache = make_cache(small_options());
  const std::int64_t a = added(cache);
  const Tokens start = append_random(cache, a, 48, 1);
  const std::int64_t b = forked(cache, a);
  ASSERT_TRUE(cache.trim(b, 20).ok());
  EXPECT_EQ(cache.length(b), 20);
  EXPECT_EQ(cache.free_pages(), 5);
  const Tokens of_b = append_random(cache, b, 2, 2);  // inside the shared second page
  EXPECT_EQ(cache.free_pages(), 4);
  EXPECT_TRUE(holds(cache, a, 0, start));
  EXPECT_TRUE(holds(cache, b, 0, part(start, 0, 20)));
  EXPECT_TRUE(holds(cache, b, 20, of_b));
  ASSERT_TRUE(cache.trim(a, 0).ok());
  EXPECT_EQ(cache.free_pages(), 6);
  ASSERT_TRUE(cache.trim(b, 22).ok());
  EXPECT_TRUE(holds(cache, b, 20, of_b));
}

TEST(Bytes, CountRowsScalesAndPaddingOfPagesInUse) {
  KvCacheOptions options = small_options(3);
  options.kv_heads = 3;
  options.k_type = KvType::int8;  // 3 heads of 16 rows of 33, scales of 4
  options.k_head_size = 33;
  options.v_type = KvType::int4_32;  // 16 bytes a row, scales of 2
  options.v_head_size = 32;
  KvCache cache = make_cache(options);
  // 1584 bytes become 1600, 192 stay, 768 stay, 96 become 128.
  EXPECT_EQ(cache.bytes_reserved(), 3 * (1600 + 192 + 768 + 128));
  EXPECT_EQ(cache.bytes_used(), 0);
  append_random(cache, added(cache), 17, 1);
  EXPECT_EQ(cache.bytes_used(), 2 * (1600 + 192 + 768 + 128));
}

// A cache that is one page a sequence, forked: only tokens that exist are copied, the rest of the
// page stays untouched memory.
TEST(Forks, OfAContiguousCache) {
  KvCacheOptions options = small_options(2);
  options.page_tokens = 1 << 12;
  KvCache cache = make_cache(options);
  const std::int64_t a = added(cache);
  const Tokens start = append_random(cache, a, 100, 1);
  const std::int64_t b = forked(cache, a);
  const Tokens of_b = append_random(cache, b, 5, 2);
  EXPECT_TRUE(holds(cache, a, 0, start));
  EXPECT_TRUE(holds(cache, b, 0, start));
  EXPECT_TRUE(holds(cache, b, 100, of_b));
  EXPECT_EQ(cache.free_pages(), 0);
}

TEST(Caches, MoveWithTheirSequences) {
  KvCache cache = make_cache(small_options());
  const std::int64_t n = added(cache);
  const Tokens tokens = append_random(cache, n, 5, 1);
  KvCache moved = std::move(cache);
  EXPECT_TRUE(holds(moved, n, 0, tokens));
  ASSERT_TRUE(KvCache::create(small_options(2), moved).ok());
  EXPECT_EQ(moved.length(n), -1);
  EXPECT_EQ(moved.free_pages(), 2);
}

}  // namespace
}  // namespace regard::test
