#include "cache/page_pool.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace regard::cache {
namespace {

constexpr std::int64_t kHugePage = std::int64_t{1} << 21;

constexpr std::int64_t round_up(std::int64_t bytes, std::int64_t step) noexcept {
  return (bytes + step - 1) / step * step;
}

/// The product of numbers from 0 on, at most kMostBytes; -1 where it is more.
std::int64_t product(std::initializer_list<std::int64_t> factors) noexcept {
  std::int64_t result = 1;
  for (const std::int64_t factor : factors) {
    if (__builtin_mul_overflow(result, factor, &result) || result > kMostBytes) return -1;
  }
  return result;
}

/// Of the rows and scales of one page, or -1.
std::int64_t bytes_of_page(KvType type, std::int64_t head_size, const KvCacheOptions& options) {
  const std::int64_t tokens = product({options.kv_heads, options.page_tokens});
  if (tokens < 0) return -1;
  const std::int64_t rows = product({kv_row_bytes(type, head_size), tokens});
  const std::int64_t scales = product({kv_scale_bytes(type, head_size), tokens});
  if (rows < 0 || scales < 0) return -1;
  return round_up(rows, kPageAlignment) + round_up(scales, kPageAlignment);
}

/// K or V before it has memory.
KvRows rows_of(KvType type, std::int64_t head_size, const KvCacheOptions& options) noexcept {
  KvRows rows = kv_rows_hnd(nullptr, type, options.kv_heads, options.page_tokens, head_size);
  rows.page_bytes = round_up(rows.page_bytes, kPageAlignment);
  rows.scale_page_bytes = round_up(rows.scale_page_bytes, kPageAlignment);
  return rows;
}

/// The first tokens of every head.
void copy_rows(const KvRows& rows, std::int64_t heads, std::int32_t from, std::int32_t to,
               std::int64_t tokens) noexcept {
  for (std::int64_t h = 0; h < heads; ++h) {
    const RowAddress source = row_address(rows, from, h, 0);
    const RowAddress copy = row_address(rows, to, h, 0);
    std::memcpy(copy.row, source.row, std::size_t(tokens * rows.token_bytes));
    if (!source.scales) continue;
    std::memcpy(copy.scales, source.scales, std::size_t(tokens * rows.scale_token_bytes));
  }
}

}  // namespace

void FreeMemory::operator()(std::byte* memory) const noexcept {
  std::free(memory);
}

Memory reserve_memory(std::int64_t bytes) noexcept {
  const std::int64_t alignment = bytes < kHugePage ? kPageAlignment : kHugePage;
  const auto rounded = std::size_t(round_up(bytes, alignment));
  Memory memory(static_cast<std::byte*>(std::aligned_alloc(std::size_t(alignment), rounded)));
#if defined(MADV_HUGEPAGE)
  // Where the system has none, small pages do.
  if (memory && alignment == kHugePage) madvise(memory.get(), rounded, MADV_HUGEPAGE);
#endif
  return memory;
}

std::int64_t pool_bytes(const KvCacheOptions& options) noexcept {
  const std::int64_t k = bytes_of_page(options.k_type, options.k_head_size, options);
  const std::int64_t v = bytes_of_page(options.v_type, options.v_head_size, options);
  return k < 0 || v < 0 ? -1 : product({options.pages, k + v});
}

bool PagePool::reserve(const KvCacheOptions& options) {
  pages_ = options.pages;
  kv_heads_ = options.kv_heads;
  k_ = rows_of(options.k_type, options.k_head_size, options);
  v_ = rows_of(options.v_type, options.v_head_size, options);
  const std::int64_t k_scales = pages_ * k_.scale_page_bytes;
  const std::int64_t scales = k_scales + pages_ * v_.scale_page_bytes;
  k_memory_ = reserve_memory(pages_ * k_.page_bytes);
  v_memory_ = reserve_memory(pages_ * v_.page_bytes);
  if (scales > 0) scales_memory_ = reserve_memory(scales);
  if (!k_memory_ || !v_memory_ || (scales > 0 && !scales_memory_)) return false;
  k_.data = k_memory_.get();
  v_.data = v_memory_.get();
  if (k_.scale_page_bytes > 0) k_.scales = scales_memory_.get();
  if (v_.scale_page_bytes > 0) v_.scales = scales_memory_.get() + k_scales;
  page_bytes_ = k_.page_bytes + k_.scale_page_bytes + v_.page_bytes + v_.scale_page_bytes;
  holders_.reserve(std::size_t(pages_));
  returned_.reserve(std::size_t(pages_));
  return true;
}

std::int32_t PagePool::take() noexcept {
  if (returned_.empty()) {
    holders_.push_back(1);
    return std::int32_t(holders_.size() - 1);
  }
  const std::int32_t page = returned_.back();
  returned_.pop_back();
  holders_[std::size_t(page)] = 1;
  return page;
}

void PagePool::release(std::int32_t page) noexcept {
  if (--holders_[std::size_t(page)] == 0) returned_.push_back(page);
}

void PagePool::copy(std::int32_t from, std::int32_t to, std::int64_t tokens) noexcept {
  copy_rows(k_, kv_heads_, from, to, tokens);
  copy_rows(v_, kv_heads_, from, to, tokens);
}

}  // namespace regard::cache
