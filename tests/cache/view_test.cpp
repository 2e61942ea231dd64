// Views: where rows lie in the two layouts of engines, and a cache as decode sees it.
#include "cache/view.h"

#include <gtest/gtest.h>

#include "cache/rows.h"
#include "cache/state.h"
#include "cache/tokens.h"

namespace regard::test {
namespace {

// Two pages, two heads, 16 tokens: counted by hand.
TEST(KvRows, OfPagesWithHeadsOutside) {
  float data = 0, scales = 0;
  const KvRows rows = kv_rows_hnd(&data, KvType::int8, 2, 16, 40, &scales);
  EXPECT_EQ(rows.data, &data);
  EXPECT_EQ(rows.scales, &scales);
  EXPECT_EQ(rows.type, KvType::int8);
  EXPECT_EQ(rows.head_size, 40);
  EXPECT_EQ(rows.token_bytes, 40);
  EXPECT_EQ(rows.head_bytes, 16 * 40);
  EXPECT_EQ(rows.page_bytes, 2 * 16 * 40);
  EXPECT_EQ(rows.scale_token_bytes, 4);
  EXPECT_EQ(rows.scale_head_bytes, 16 * 4);
  EXPECT_EQ(rows.scale_page_bytes, 2 * 16 * 4);
}

TEST(KvRows, OfPagesWithTokensOutside) {
  const KvRows rows = kv_rows_nhd(nullptr, KvType::int4_32, 2, 16, 96);
  EXPECT_EQ(rows.head_bytes, 48);
  EXPECT_EQ(rows.token_bytes, 2 * 48);
  EXPECT_EQ(rows.page_bytes, 16 * 2 * 48);
  EXPECT_EQ(rows.scale_head_bytes, 6);
  EXPECT_EQ(rows.scale_token_bytes, 2 * 6);
  EXPECT_EQ(rows.scale_page_bytes, 16 * 2 * 6);
}

TEST(KvRows, OfGgmlBlocks) {
  const KvRows q8 = kv_rows_hnd(nullptr, KvType::q8_0, 1, 16, 64);
  const KvRows q4 = kv_rows_nhd(nullptr, KvType::q4_0, 1, 16, 64);
  EXPECT_EQ(q8.token_bytes, 68);
  EXPECT_EQ(q4.token_bytes, 36);
  EXPECT_EQ(q8.scale_page_bytes + q4.scale_page_bytes, 0);
}

TEST(KvRows, OfMoreColumnsThan64BitsHaveBytesFor) {
  EXPECT_EQ(kv_row_bytes(KvType::f32, INT64_MAX / 4), INT64_MAX / 4 * 4);
  EXPECT_EQ(kv_row_bytes(KvType::f32, INT64_MAX / 4 + 1), INT64_MAX);
  EXPECT_EQ(kv_row_bytes(KvType::bf16, INT64_MAX / 2 + 1), INT64_MAX);
  EXPECT_EQ(kv_row_bytes(KvType::q8_0, INT64_MAX / 34 * 32), INT64_MAX / 34 * 34);
  EXPECT_EQ(kv_row_bytes(KvType::q8_0, INT64_MAX), INT64_MAX);
  EXPECT_EQ(kv_row_bytes(KvType::int4_32, INT64_MAX), INT64_MAX / 2);
  EXPECT_EQ(kv_row_bytes(KvType::f32, INT64_MIN), 0);
  const KvRows rows = kv_rows_hnd(nullptr, KvType::f32, 2, 16, INT64_MAX / 4 + 1);
  EXPECT_EQ(rows.token_bytes, INT64_MAX);
  EXPECT_EQ(rows.page_bytes, INT64_MAX);
}

/// Token t of a head, read through the view.
std::vector<float> row_of(const KvView& view, const KvRows& rows, std::size_t n, std::int64_t head,
                          std::int64_t t) {
  const std::int64_t page = view.page_tables[n][t / view.page_tokens];
  EXPECT_GE(page, 0);
  EXPECT_LT(page, view.pages);
  const auto* data = static_cast<const std::byte*>(rows.data) + page * rows.page_bytes +
                     head * rows.head_bytes + t % view.page_tokens * rows.token_bytes;
  const auto* scales = static_cast<const std::byte*>(rows.scales);
  if (scales) {
    scales += page * rows.scale_page_bytes + head * rows.scale_head_bytes +
              t % view.page_tokens * rows.scale_token_bytes;
  }
  std::vector<float> values(std::size_t(rows.head_size));
  cache::read_row(rows.type, data, scales, rows.head_size, values.data());
  return values;
}

void expect_same(const KvView& view, std::size_t n, const Tokens& tokens, std::int64_t begin) {
  for_each_index(
      tokens.k.shape(), [&](std::int64_t, std::int64_t h, std::int64_t s, std::int64_t d) {
        ASSERT_EQ(row_of(view, view.k, n, h, begin + s)[std::size_t(d)], tokens.k.at(0, h, s, d));
      });
  for_each_index(
      tokens.v.shape(), [&](std::int64_t, std::int64_t h, std::int64_t s, std::int64_t d) {
        ASSERT_EQ(row_of(view, view.v, n, h, begin + s)[std::size_t(d)], tokens.v.at(0, h, s, d));
      });
}

TEST(ViewOfACache, ReadsWhatGatherGives) {
  KvCacheOptions options = small_options();
  options.k_type = KvType::int8;
  options.v_type = KvType::int4_32;
  options.v_head_size = 64;
  KvCache cache = make_cache(options);
  const std::int64_t a = added(cache), b = added(cache);
  append_random(cache, a, 20, 1);
  append_random(cache, b, 3, 2);
  append_random(cache, a, 20, 3);
  const std::int64_t numbers[] = {b, a, b};
  cache::OwnedView owned;
  ASSERT_TRUE(cache::view_of(*cache.state(), numbers, owned).ok());
  const cache::OwnedView moved = std::move(owned);
  const KvView& view = moved.view;
  EXPECT_EQ(std::vector<std::int64_t>(view.lengths.begin(), view.lengths.end()),
            (std::vector<std::int64_t>{3, 40, 3}));
  EXPECT_EQ(view.kv_heads, 2);
  EXPECT_EQ(view.page_tokens, 16);
  EXPECT_EQ(view.pages, 8);
  EXPECT_TRUE(view.held_from.empty());
  EXPECT_EQ(view.keep_first, 0);
  expect_same(view, 0, gathered(cache, b, 0, 3), 0);
  expect_same(view, 1, gathered(cache, a, 0, 40), 0);
}

TEST(ViewOfACache, SaysWhatARingDropped) {
  KvCacheOptions options = small_options();
  options.window = 10;
  options.keep_first = 4;
  KvCache cache = make_cache(options);
  const std::int64_t a = added(cache), b = added(cache);
  append_random(cache, a, 70, 1);
  append_random(cache, b, 2, 1);
  const std::int64_t numbers[] = {a, b};
  cache::OwnedView owned;
  ASSERT_TRUE(cache::view_of(*cache.state(), numbers, owned).ok());
  const KvView& view = owned.view;
  EXPECT_EQ(view.keep_first, 4);
  EXPECT_EQ(std::vector<std::int64_t>(view.held_from.begin(), view.held_from.end()),
            (std::vector<std::int64_t>{60, 4}));
  expect_same(view, 0, gathered(cache, a, 60, 10), 60);
  expect_same(view, 0, gathered(cache, a, 0, 4), 0);
  for (std::size_t page = 1; page < 3; ++page) EXPECT_EQ(view.page_tables[0][page], -1);
}

TEST(ViewOfACache, PagesLieOnCacheLines) {
  KvCacheOptions options = small_options();
  options.k_type = options.v_type = KvType::int8;
  options.k_head_size = 1;
  options.v_head_size = 3;
  options.kv_heads = 1;
  KvCache cache = make_cache(options);
  cache::OwnedView owned;
  ASSERT_TRUE(cache::view_of(*cache.state(), {}, owned).ok());
  for (const KvRows* rows : {&owned.view.k, &owned.view.v}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(rows->data) % 64, 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(rows->scales) % 64, 0U);
    EXPECT_EQ(rows->page_bytes % 64 + rows->scale_page_bytes % 64, 0);
  }
}

TEST(ViewOfACache, RefusesNumbersOfNoSequence) {
  KvCache cache = make_cache(small_options());
  const std::int64_t numbers[] = {added(cache), 7};
  cache::OwnedView owned;
  const Status status = cache::view_of(*cache.state(), numbers, owned);
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_EQ(status.message(), "sequences[1]: 7 is none of the 1 that live");
  EXPECT_TRUE(owned.lengths.empty());
}

}  // namespace
}  // namespace regard::test
