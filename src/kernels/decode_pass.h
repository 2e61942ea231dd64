// Up to kPassRows query rows that take a block of keys together: their facts, their state and what
// they see. Lanes of a vector of scores are (row, key): kLanes / rows keys of each row.
//
// A row holds m, the largest score it has seen in the chunk, l = sum e^(s - m) by the keys' numbers
// modulo kLanes, and O = sum e^(s - m) v. Which rows share a pass changes none of their bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/decode.h"
#include "kernels/decode_rows.h"
#include "kernels/hiding.h"
#include "kernels/row_state.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

template <class T>
inline constexpr int kPassRows = Simd<T>::kLanes < 8 ? Simd<T>::kLanes : 8;

/// A query row of a task.
struct DecodeRow {
  const contract::DecodeSequence* sequence = nullptr;
  std::int64_t row = 0;   ///< of the sequence's row space
  std::int64_t head = 0;  ///< query head within the group
  std::int64_t i = 0;     ///< query row
  std::int64_t lo = 0, hi = 0;
};

/// The first `count` bits.
inline std::uint64_t low_bits(std::int64_t count) {
  return count <= 0 ? 0 : count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

/// Bit k: the row's interval, first keys and tree let it see key block.begin + k.
inline std::uint64_t seen_keys(const DecodeRow& row, Keys block) {
  const contract::DecodeSequence& sequence = *row.sequence;
  std::uint64_t bits = low_bits(row.hi - block.begin) & low_bits(block.end - block.begin);
  bits &= ~low_bits(row.lo - block.begin) | low_bits(sequence.first - block.begin);
  if (sequence.tree && bits != 0) {
    const std::int64_t offset = sequence.tree_begin - block.begin;
    if (offset < 64) {
      const std::uint64_t tree = sequence.tree[row.i];
      const std::uint64_t moved = offset >= 0 ? tree << offset : offset > -64 ? tree >> -offset : 0;
      bits &= moved | low_bits(offset);
    }
  }
  return bits;
}

template <class T>
struct DecodePass {
  static constexpr int kLanes = Simd<T>::kLanes;
  static constexpr int kMost = kPassRows<T>;

  DecodeRow* rows;      ///< kMost
  std::uint64_t* seen;  ///< kMost: bit k, the row sees key k of the block
  T* m;                 ///< kMost
  T* l;                 ///< (kMost, kLanes)
  T* slopes;            ///< kLanes, ALiBi
  T* positions;         ///< kLanes: of the row, from the start of the block and the lane's key
  T* scores;            ///< (kDecodeBlock, width), then the weights
  T* bias;              ///< of the block, as the scores lie; where there is a bias
  T* queries;           ///< (width, D padded), times the factor, in the loader's order
  T* out;               ///< (width, Dv padded), in the loader's order
  int count = 0;        ///< rows in use
  int width = 1;        ///< rows computed: a power of two
  bool whole = false;   ///< all rows see the whole block

  static constexpr std::int64_t kFixedBytes =
      (kMost * std::int64_t{sizeof(DecodeRow) + sizeof(std::uint64_t) + sizeof(T)} +
       (kMost * kLanes + 2 * kLanes + kDecodeBlock * kMost) * std::int64_t{sizeof(T)} + 5 * 64) /
      64 * 64;

  DecodePass() = default;
  DecodePass(std::byte* memory, std::int64_t dims, bool biased) {
    const auto take = [&memory](std::int64_t bytes) {
      std::byte* part = memory;
      memory += ceil_to(bytes, 64);
      return part;
    };
    const auto numbers = [&](std::int64_t count_of) {
      return reinterpret_cast<T*>(take(count_of * std::int64_t{sizeof(T)}));
    };
    rows = reinterpret_cast<DecodeRow*>(take(kMost * std::int64_t{sizeof(DecodeRow)}));
    seen = reinterpret_cast<std::uint64_t*>(take(kMost * std::int64_t{sizeof(std::uint64_t)}));
    m = numbers(kMost);
    l = numbers(kMost * kLanes);
    slopes = numbers(kLanes);
    positions = numbers(kLanes);
    scores = numbers(kDecodeBlock * kMost);
    bias = numbers(biased ? kDecodeBlock * kMost : 0);
    queries = numbers(kMost * dims);
    out = numbers(0);
  }
};

/// Keys of one row in a vector of scores.
template <class T>
constexpr int keys_per_vector(int width) {
  return Simd<T>::kLanes / width;
}

/// Where the score of a row and a key of the block stands.
template <class T>
inline std::int64_t score_at(int width, int row, std::int64_t key) {
  const int keys = keys_per_vector<T>(width);
  return key / keys * Simd<T>::kLanes + row * keys + key % keys;
}

/// The lanes of the vector of keys from `key` on that are seen.
template <class T, int kWidth>
[[gnu::always_inline]] inline typename Simd<T>::Mask seen_lanes(const std::uint64_t* seen,
                                                                std::int64_t key) {
  constexpr int keys = keys_per_vector<T>(kWidth);
  std::uint64_t lanes = 0;
#pragma GCC unroll 8
  for (int r = 0; r < kWidth; ++r) {
    lanes |= (seen[r] >> key & low_bits(keys)) << (r * keys);
  }
  return lanes_of<T>(lanes);
}

/// Hides what the mask hides.
inline void see_decode_mask(const DecodeRow& row, Keys block, std::uint64_t& seen) {
  const contract::Source& mask = row.sequence->score.mask;
  const std::int64_t count = smaller(block.end, row.sequence->keys) - block.begin;
  std::uint64_t bits[kWords];
  row_bits(reinterpret_cast<const std::uint8_t*>(element_at(mask, row.head, row.i, block.begin)),
           mask.column, count, bits);
  seen &= bits[0];
}

/// Lays a row's bias out beside its scores and hides pairs of -infinity.
template <class T>
void see_decode_bias(const DecodePass<T>& pass, int r, Keys block) {
  const DecodeRow& row = pass.rows[r];
  const contract::Source& bias = row.sequence->score.bias;
  const std::int64_t count = smaller(block.end, row.sequence->keys) - block.begin;
  alignas(64) T numbers[kDecodeBlock];
  read_bias<T>(bias, element_at(bias, row.head, row.i, block.begin), count, numbers);
  std::uint64_t hidden = 0;
  for (std::int64_t key = 0; key < count; ++key) {
    hidden |= std::uint64_t(numbers[key] == -T(__builtin_inf())) << key;
    pass.bias[score_at<T>(pass.width, r, key)] = numbers[key];
  }
  pass.seen[r] &= ~hidden;
}

/// Sets what the rows of the pass see of a block, and their bias where there is one.
template <class T>
void look_at_keys(const DecodePass<T>& pass, Keys block) {
  for (int r = 0; r < pass.count; ++r) {
    pass.seen[r] = seen_keys(pass.rows[r], block);
    if (pass.seen[r] == 0) continue;
    const contract::Score& score = pass.rows[r].sequence->score;
    if (score.mask.data) see_decode_mask(pass.rows[r], block, pass.seen[r]);
    if (score.bias.data && pass.seen[r] != 0) see_decode_bias(pass, r, block);
  }
  for (int r = pass.count; r < pass.width; ++r) pass.seen[r] = pass.seen[0];
}

/// Positions for ALiBi, from the start of the block and less the lane's own key.
template <class T>
void place_lanes(const DecodePass<T>& pass, Keys block) {
  const int keys = keys_per_vector<T>(pass.width);
  for (int r = 0; r < pass.count; ++r) {
    const DecodeRow& row = pass.rows[r];
    for (int k = 0; k < keys; ++k) {
      pass.positions[r * keys + k] =
          T(row.i + row.sequence->score.position_offset - block.begin - k);
    }
  }
}

}  // namespace regard::REGARD_ISA
