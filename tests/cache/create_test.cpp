// What a cache may be, up to the ends of 64 bits, and what one that was not made says.
#include <gtest/gtest.h>

#include <string>

#include "cache/tokens.h"

namespace regard::test {
namespace {

constexpr std::int64_t kHuge = INT64_MAX;

void expect_refused(const KvCacheOptions& options, const std::string& sentence) {
  KvCache cache = make_cache(small_options(3));
  const Status status = KvCache::create(options, cache);
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_EQ(status.message(), sentence);
  EXPECT_EQ(cache.free_pages(), 3) << "it is no longer what it was";
}

void expect_refused(std::int64_t KvCacheOptions::*member, std::int64_t value,
                    const std::string& sentence) {
  KvCacheOptions options = small_options();
  options.*member = value;
  expect_refused(options, sentence);
}

TEST(Create, RefusesSizesOutOfRange) {
  using O = KvCacheOptions;
  expect_refused(&O::kv_heads, 0, "kv_heads: 0 is not in [1, 2147483647]");
  expect_refused(&O::kv_heads, kHuge, "kv_heads: 9223372036854775807 is not in [1, 2147483647]");
  expect_refused(&O::k_head_size, 0, "k_head_size: 0 is not in [1, 2147483647]");
  expect_refused(&O::v_head_size, -1, "v_head_size: -1 is not in [1, 2147483647]");
  expect_refused(&O::page_tokens, 0, "page_tokens: 0 is not in [16, 2147483647]");
  expect_refused(&O::page_tokens, 24, "page_tokens: 24 is not a multiple of 16");
  expect_refused(&O::pages, 0, "pages: 0 is not in [1, 2147483647]");
  expect_refused(&O::pages, kHuge, "pages: 9223372036854775807 is not in [1, 2147483647]");
}

// Where a row's bytes would leave 64 bits, and where they would wrap to a number that looks right.
TEST(Create, RefusesHeadsWhoseRowsLeave64Bits) {
  for (int n = 0; n <= int(KvType::q4_0); ++n) {
    for (const std::int64_t size : {kHuge / 32 * 32, kHuge / 2 + 1, kHuge / 4 + 1}) {
      KvCacheOptions options = small_options();
      options.k_type = options.v_type = KvType(n);
      options.k_head_size = 32;
      options.v_head_size = size;
      expect_refused(options,
                     "v_head_size: " + std::to_string(size) + " is not in [1, 2147483647]");
    }
  }
}

TEST(Create, RefusesRingsThatContradictThemselves) {
  using O = KvCacheOptions;
  expect_refused(&O::window, 0, "window: 0 is neither -1 (all) nor in [1, 2147483647]");
  expect_refused(&O::window, -2, "window: -2 is neither -1 (all) nor in [1, 2147483647]");
  expect_refused(&O::window, kHuge,
                 "window: 9223372036854775807 is neither -1 (all) nor in [1, 2147483647]");
  expect_refused(&O::keep_first, -1, "keep_first: -1 is not in [0, 2147483647]");
  expect_refused(&O::spare, 3, "spare: 3 tokens are given, but window is -1 (all are kept)");
  KvCacheOptions options = small_options();
  options.window = 4;
  options.spare = kHuge;
  expect_refused(options, "spare: 9223372036854775807 is not in [0, 2147483647]");
}

TEST(Create, RefusesRowsThatBlocksDoNotFill) {
  KvCacheOptions options = small_options();
  options.v_type = KvType::q4_0;
  options.v_head_size = 48;
  expect_refused(options, "v_head_size: 48 is not a multiple of 32, the block of q4_0");
  options.v_type = KvType(10);
  expect_refused(options, "v_type: 10 is not in 0 to 9");
  options = small_options();
  options.k_type = KvType(255);
  expect_refused(options, "k_type: 255 is not in 0 to 9");
}

// Every product on the way to the size of a pool, made to leave 64 bits or an address space.
TEST(Create, RefusesPoolsOfNoAddressSpace) {
  constexpr std::int64_t most = 0x7fffffff, tokens = most / 16 * 16;
  for (const std::int64_t kv_heads : {std::int64_t{1}, std::int64_t{2}, most}) {
    for (const std::int64_t page_tokens : {std::int64_t{16}, tokens}) {
      for (const std::int64_t head_size : {std::int64_t{4096}, most / 32 * 32}) {
        for (const KvType type : {KvType::fp8_e4m3, KvType::int8, KvType::int4_32, KvType::f32}) {
          KvCacheOptions options;
          options.k_type = options.v_type = type;
          options.kv_heads = kv_heads;
          options.page_tokens = page_tokens;
          options.k_head_size = options.v_head_size = head_size;
          options.pages = most;
          KvCache cache;
          const Status status = KvCache::create(options, cache);
          // 2^31 pages of 16 rows of 2 KB are 2^46 bytes: no machine gives them, but they count.
          EXPECT_TRUE(status.code() == StatusCode::invalid_argument ||
                      status.code() == StatusCode::out_of_memory)
              << status.message();
          EXPECT_EQ(status.message().rfind("pages: 2147483647 of ", 0), 0U) << status.message();
          EXPECT_EQ(cache.state(), nullptr);
        }
      }
    }
  }
  KvCacheOptions options = small_options(most);
  options.kv_heads = most;
  expect_refused(options,
                 "pages: 2147483647 of 16 tokens of 2147483647 heads take more than "
                 "72057594037927936 bytes");
}

TEST(Create, SaysHowManyBytesTheSystemRefuses) {
  KvCacheOptions options = small_options(1 << 30);
  options.kv_heads = 1 << 10;
  options.k_head_size = options.v_head_size = 128;
  KvCache cache;
  const Status status = KvCache::create(options, cache);
  EXPECT_EQ(status.code(), StatusCode::out_of_memory);
  EXPECT_EQ(status.message(),
            "pages: 1073741824 of them take 18014398509481984 bytes, which the system refuses");
}

// Memory is taken when tokens come: a pool larger than what is free may be made.
TEST(Create, TouchesNoMemory) {
  KvCacheOptions options = small_options(1 << 20);  // 1 GB
  KvCache cache = make_cache(options);
  const std::int64_t n = added(cache);
  EXPECT_TRUE(holds(cache, n, 0, append_random(cache, n, 3, 1)));
  EXPECT_EQ(cache.bytes_reserved(), std::int64_t{1} << 30);
}

TEST(Create, EveryCallOnACacheThatWasNotMadeSaysSo) {
  KvCache cache;
  std::int64_t number = 77;
  const Tokens tokens(small_options(), 1);
  const std::string sentence = "cache: it has not been created";
  EXPECT_EQ(cache.add(number).message(), sentence);
  EXPECT_EQ(cache.fork(0, number).message(), sentence);
  EXPECT_EQ(cache.remove(0).message(), sentence);
  EXPECT_EQ(cache.trim(0, 0).message(), sentence);
  EXPECT_EQ(cache.append(0, tokens.k.view(), tokens.v.view()).message(), sentence);
  EXPECT_EQ(cache.gather(0, 0, {}, {}).message(), sentence);
  EXPECT_EQ(number, 77);
  EXPECT_EQ(cache.length(0), -1);
  EXPECT_EQ(cache.held_from(0), -1);
  EXPECT_EQ(cache.free_pages() + cache.bytes_used() + cache.bytes_reserved(), 0);
  EXPECT_EQ(cache.options().kv_heads, 0);
}

}  // namespace
}  // namespace regard::test
