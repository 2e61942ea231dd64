// The memory of a cache: pages of K, of V and of their scales, and how many sequences hold each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "regard/kv_cache.h"

namespace regard::cache {

struct FreeMemory {
  void operator()(std::byte* memory) const noexcept;
};
using Memory = std::unique_ptr<std::byte, FreeMemory>;
/// Memory for a pool: on a border of 64 bytes, or of 2 MiB where it is that long; huge pages are
/// asked for. Nothing of it is touched. Null without memory.
Memory reserve_memory(std::int64_t bytes) noexcept;

class PagePool {
 public:
  PagePool() = default;

  /// `options` are sound: check_options passed. False without memory.
  bool reserve(const KvCacheOptions& options);

  /// Where rows of K and of V lie.
  const KvRows& k() const noexcept { return k_; }
  const KvRows& v() const noexcept { return v_; }

  std::int64_t free_pages() const noexcept {
    return pages_ - std::int64_t(holders_.size()) + std::int64_t(returned_.size());
  }
  std::int64_t used_pages() const noexcept { return pages_ - free_pages(); }
  std::int64_t page_bytes() const noexcept { return page_bytes_; }
  std::int64_t bytes() const noexcept { return pages_ * page_bytes_; }

  bool shared(std::int32_t page) const noexcept { return holders_[std::size_t(page)] > 1; }

  /// A page held once; free_pages() is at least 1.
  std::int32_t take() noexcept;
  /// One holder more.
  void share(std::int32_t page) noexcept { ++holders_[std::size_t(page)]; }
  /// One holder less; a page without holders is free.
  void release(std::int32_t page) noexcept;

  /// Copies the first `tokens` tokens of a page to another.
  void copy(std::int32_t from, std::int32_t to, std::int64_t tokens) noexcept;

 private:
  std::int64_t pages_ = 0, kv_heads_ = 0;
  std::int64_t page_bytes_ = 0;  ///< of K, V and scales together
  Memory k_memory_, v_memory_, scales_memory_;
  KvRows k_, v_;
  /// Pages below holders_.size() have been used once; both have room for all pages.
  std::vector<std::uint32_t> holders_;
  std::vector<std::int32_t> returned_;
};

/// Pages begin on borders of so many bytes.
inline constexpr std::int64_t kPageAlignment = 64;

/// No address space holds more, and sums of a few stay far inside 64 bits.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 56;

/// Bytes of K, V and scales of all pages, padding included, or -1 where they are more than
/// kMostBytes.
std::int64_t pool_bytes(const KvCacheOptions& options) noexcept;

/// Where the row of a token lies, and its scales; null where the type has none apart.
struct RowAddress {
  std::byte* row;
  std::byte* scales;
};
inline RowAddress row_address(const KvRows& rows, std::int32_t page, std::int64_t head,
                              std::int64_t token) noexcept {
  auto* data = static_cast<std::byte*>(const_cast<void*>(rows.data));
  auto* scales = static_cast<std::byte*>(const_cast<void*>(rows.scales));
  data += page * rows.page_bytes + head * rows.head_bytes + token * rows.token_bytes;
  if (scales) {
    scales += page * rows.scale_page_bytes + head * rows.scale_head_bytes +
              token * rows.scale_token_bytes;
  }
  return {data, scales};
}

}  // namespace regard::cache
