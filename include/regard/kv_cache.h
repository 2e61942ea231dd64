// Keys and values of running sequences, kept between calls: KvCache owns them in pages, KvView
// describes such memory, a cache's or a caller's own. docs/kv-cache.md draws the layouts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "regard/export.h"
#include "regard/status.h"
#include "regard/tensor.h"

namespace regard {

/// What the rows of K or V are stored as. A quantised element is an integer times a scale, exact in
/// f32; blocks are 32 neighbours of a row. Scales lie in rows of their own, in the order of blocks.
enum class KvType : std::uint8_t {
  f32,
  f16,
  bf16,
  fp8_e4m3,  ///< 1 + 4 + 3 bits, bias 7, no infinity, largest 448 (the OCP format)
  fp8_e5m2,  ///< 1 + 5 + 2 bits, bias 15, with infinities, largest 57344
  int8,      ///< -127 to 127 times one f32 scale a row; scales lie in their own array. A cache
             ///< writes scales whose last 8 bits are 0; products with others are rounded to nearest
  int8_32,   ///< -127 to 127 times one f16 scale a block; scales lie in their own array
  int4_32,   ///< nibbles 0 to 15, element n in nibble n, value (nibble - 8) times one f16 scale a
             ///< block; scales lie in their own array
  q8_0,      ///< ggml's: a block is its f16 scale, then 32 times int8
  q4_0,      ///< ggml's: a block is its f16 scale, then 16 bytes, byte n: elements n and n + 16
};

/// "int8"; "unknown" for a value outside the enumeration.
constexpr const char* kv_type_name(KvType type) noexcept {
  constexpr const char* names[] = {"f32",  "f16",     "bf16",    "fp8_e4m3", "fp8_e5m2",
                                   "int8", "int8_32", "int4_32", "q8_0",     "q4_0"};
  return type <= KvType::q4_0 ? names[int(type)] : "unknown";
}

/// Elements that a row's length must be a multiple of: those of a block.
constexpr std::int64_t kv_block(KvType type) noexcept {
  return type < KvType::int8_32 ? 1 : 32;
}

/// Bytes of a row of `columns` elements, from 0 on, scales in their own array not counted;
/// INT64_MAX where they leave 64 bits.
constexpr std::int64_t kv_row_bytes(KvType type, std::int64_t columns) noexcept {
  const auto times = [](std::int64_t count, std::int64_t bytes) {
    return count > INT64_MAX / bytes ? INT64_MAX : count * bytes;
  };
  if (columns < 0) return 0;
  switch (type) {
    case KvType::f32:
      return times(columns, 4);
    case KvType::f16:
    case KvType::bf16:
      return times(columns, 2);
    case KvType::fp8_e4m3:
    case KvType::fp8_e5m2:
    case KvType::int8:
    case KvType::int8_32:
      return columns;
    case KvType::int4_32:
      return columns / 2;
    case KvType::q8_0:
      return times(columns / 32, 34);
    case KvType::q4_0:
      return columns / 32 * 18;
  }
  return 0;
}

/// Bytes of a row's scales in their own array; 0 for types without one.
constexpr std::int64_t kv_scale_bytes(KvType type, std::int64_t columns) noexcept {
  if (type == KvType::int8) return 4;
  return type == KvType::int8_32 || type == KvType::int4_32 ? columns / 32 * 2 : 0;
}

/// Where the rows of K, or of V, lie: the row of token t of a page, for a KV head h, begins
/// page * page_bytes + h * head_bytes + t * token_bytes behind `data`, its scales likewise. A row
/// itself is dense, and needs no alignment beyond that of its elements; memory of q8_0 and q4_0
/// needs none.
struct KvRows {
  const void* data = nullptr;
  KvType type = KvType::f32;
  std::int64_t head_size = 0;  ///< elements of a row: D, or Dv
  std::int64_t page_bytes = 0, head_bytes = 0, token_bytes = 0;
  const void* scales = nullptr;  ///< of int8, int8_32 and int4_32
  std::int64_t scale_page_bytes = 0, scale_head_bytes = 0, scale_token_bytes = 0;
};

/// Cached sequences as `decode` reads them. Token t of sequence n lies in page
/// page_tables[n][t / page_tokens], at place t % page_tokens. A contiguous cache is one page a
/// sequence. Sequences may share pages.
struct KvView {
  KvRows k, v;
  std::int64_t kv_heads = 0;
  std::int64_t page_tokens = 0;  ///< a multiple of 16
  std::int64_t pages = 0;        ///< entries of page tables are in [0, pages)
  std::span<const std::int32_t* const> page_tables;
  std::span<const std::int64_t> lengths;  ///< tokens of each sequence, dropped ones included
  /// Tokens [keep_first, held_from[n]) of sequence n have been dropped: no row sees them, and their
  /// entries of the page table may hold anything. Empty: all are there.
  std::span<const std::int64_t> held_from;
  /// The first tokens, which neither window.left nor dropping hides: sinks of a streaming cache.
  std::int64_t keep_first = 0;
};

/// Pages one after another, each (kv_heads, page_tokens, head_size): "HND".
REGARD_API KvRows kv_rows_hnd(const void* data, KvType type, std::int64_t kv_heads,
                              std::int64_t page_tokens, std::int64_t head_size,
                              const void* scales = nullptr) noexcept;
/// Pages one after another, each (page_tokens, kv_heads, head_size): "NHD".
REGARD_API KvRows kv_rows_nhd(const void* data, KvType type, std::int64_t kv_heads,
                              std::int64_t page_tokens, std::int64_t head_size,
                              const void* scales = nullptr) noexcept;

struct KvCacheOptions {
  KvType k_type = KvType::f16;
  KvType v_type = KvType::f16;
  std::int64_t kv_heads = 0;
  std::int64_t k_head_size = 0;  ///< D
  std::int64_t v_head_size = 0;  ///< Dv
  /// Tokens of a page, a multiple of 16: 16 to 256 for a cache in pages. With as many as the
  /// longest sequence will have, the cache is contiguous.
  std::int64_t page_tokens = 64;
  std::int64_t pages = 0;  ///< of the pool, all sequences together
  /// A ring: of each sequence the first keep_first and the last `window` tokens are held, at least
  /// one. Pages that hold none of them go back to the pool. -1: everything is held. For rows that
  /// see W keys each, S of them in a call, it is W + S - 1.
  std::int64_t window = -1;
  std::int64_t keep_first = 0;
  /// Tokens before the window that a ring keeps unseen, so that `trim` can go back by so many.
  std::int64_t spare = 0;
};

struct KvCacheState;

/// Sequences in pages of one pool, taken when tokens come and given back when they go. Layout of a
/// page: (kv_heads, page_tokens, head_size), 64-byte aligned, in memory that asks for huge pages;
/// K, V and scales lie apart. What is behind a sequence's last token is undefined.
/// Pages may be shared between sequences (fork); one that is written to is copied first.
/// Every call that fails leaves the cache as it was, and its results untouched: invalid_argument
/// with a sentence that opens with the argument's name, out_of_memory. Calls on one cache must not
/// overlap, but `decode` and the const members may be called from any number of threads at once.
class REGARD_API KvCache {
 public:
  KvCache() noexcept;
  ~KvCache();
  KvCache(KvCache&&) noexcept;
  KvCache& operator=(KvCache&&) noexcept;

  /// Replaces what `cache` was. Errors: invalid_argument for options that contradict themselves or
  /// leave the address space; out_of_memory. Memory of pages is touched when tokens come.
  static Status create(const KvCacheOptions& options, KvCache& cache) noexcept;

  /// A new sequence without tokens; its number is not that of any living one.
  Status add(std::int64_t& sequence) noexcept;
  /// Forgets the sequence and gives its pages back.
  Status remove(std::int64_t sequence) noexcept;
  /// A new sequence with the tokens of `sequence`, which it shares until one of both is written.
  Status fork(std::int64_t sequence, std::int64_t& copy) noexcept;

  /// Appends T tokens: k (1, Hkv, T, D), v (1, Hkv, T, Dv), of any float types, at any strides; T
  /// may be 0, and a ring takes any T.
  /// Numbers are rounded to nearest, ties to even, from their own type, once; in f32 and the half
  /// types what is too large becomes infinity. In fp8 what is beyond the largest number becomes
  /// that number; an infinity in e5m2 stays, in e4m3 it becomes NaN. NaN stays NaN.
  /// Quantised: the scale is the least number of its form that times 127 (int4_32, q4_0: 7) reaches
  /// the largest magnitude of its row or block, or else the largest of that form: an f16, or for
  /// int8 an f32 whose last 8 bits are 0 and whose 127-fold is finite. Elements are rounded to the
  /// nearest multiple of the scale, ties to even, and cut to the range: the error is at most half a
  /// scale, but for numbers beyond 127 (7) times the largest scale. A NaN or an infinity makes its
  /// scale NaN, and so the whole row or block.
  /// Errors: out_of_memory where the pool has too few free pages, those counted that the ring gives
  /// back by this call.
  Status append(std::int64_t sequence, const ConstTensor& k, const ConstTensor& v) noexcept;

  /// Keeps the first `length` tokens. A ring can go back by its spare tokens, and to keep_first or
  /// fewer: where it would have to hold tokens that have been dropped, it is an error.
  Status trim(std::int64_t sequence, std::int64_t length) noexcept;

  /// Writes tokens [begin, begin + T) as they are read by `decode`: k (1, Hkv, T, D), v (1, Hkv, T,
  /// Dv), any float types, which round to nearest; either may be absent. Tokens of
  /// [keep_first, held_from) are an error.
  Status gather(std::int64_t sequence, std::int64_t begin, const Tensor& k,
                const Tensor& v) const noexcept;

  /// As given to `create`; of a cache that was not created, the defaults.
  const KvCacheOptions& options() const noexcept;
  /// Tokens appended and not trimmed, dropped ones included; -1: no such sequence.
  std::int64_t length(std::int64_t sequence) const noexcept;
  /// The first token from keep_first on that is held: keep_first, in a ring
  /// max(keep_first, length - window); -1: no such sequence.
  std::int64_t held_from(std::int64_t sequence) const noexcept;
  std::int64_t free_pages() const noexcept;
  /// Bytes of pages in use, scales and padding included; shared ones count once.
  std::int64_t bytes_used() const noexcept;
  /// Bytes of the whole pool.
  std::int64_t bytes_reserved() const noexcept;

  /// Internal handle; null for a cache that was not created.
  const KvCacheState* state() const noexcept { return state_.get(); }

 private:
  struct Free {
    void operator()(KvCacheState* state) const noexcept;
  };
  std::unique_ptr<KvCacheState, Free> state_;
};

}  // namespace regard
