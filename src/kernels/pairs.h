// Panels of bf16: neighbours that are multiplied together stand together, the first in the low
// half of a word of 32 bits.
#pragma once

#include <bit>
#include <cstdint>

#include "contract/direct.h"
#include "kernels/panels.h"
#include "kernels/row_state.h"
#include "kernels/visibility.h"
#include "prim/halves.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

/// element_at of a 16-bit type.
inline const std::uint16_t* halves_at(const contract::Source& source, std::int64_t head,
                                      std::int64_t row, std::int64_t column) {
  return reinterpret_cast<const std::uint16_t*>(element_at(source, head, row, column));
}

/// factor = power rest, the power one of two, |rest| in [1, 2): bf16 takes the power without
/// rounding. A factor of 0 is in the power, so that products do not overflow before it.
struct SplitFactor {
  float power;
  float rest;
};
inline SplitFactor split_factor(float factor) {
  const auto bits = std::bit_cast<std::uint32_t>(factor);
  const auto power = std::bit_cast<float>(bits & 0x7f800000);
  return power == 0 ? SplitFactor{0, 1} : SplitFactor{power, factor / power};
}

/// Writes the group's rows times `power` into a panel of words (columns / 2, kWidth); columns past
/// D, rows that see nothing and lanes past the rows are 0. scale(words, power) does it for both
/// halves.
template <int kWidth, class Scale>
void pack_query_pairs(const contract::DirectTask& task, const RowGroup<float, kWidth>& group,
                      float power, std::int64_t columns, const Scale& scale) {
  constexpr int lanes = Simd<float>::kLanes;
  constexpr int halves = 2 * lanes;
  using Vector = Simd<float>::Vector;
  for (int r0 = 0; r0 < kWidth; r0 += lanes) {
    const std::uint16_t* row[lanes];
    bool all = true;
    for (int i = 0; i < lanes; ++i) {
      const bool live = (group.live >> (r0 + i) & 1) != 0;
      const RowPlace place = live ? row_place(task, group.first + r0 + i) : RowPlace{};
      row[i] = live ? halves_at(task.q, place.head, place.i, 0) : nullptr;
      all = all && live;
    }
    for (std::int64_t d = 0; d < columns; d += halves) {
      const std::int64_t count = smaller(halves, task.dims - d);
      Vector words[lanes];
      if (all && count == halves && task.q.column == 1) {
#pragma GCC unroll 16
        for (int i = 0; i < lanes; ++i) {
          words[i] = load_anywhere<float>(reinterpret_cast<const std::byte*>(row[i] + d));
        }
      } else {
        for (int i = 0; i < lanes; ++i) {
          alignas(64) std::uint16_t copy[halves] = {};
          if (row[i] && count > 0) {
            convert_each(row[i] + d * task.q.column, task.q.column, count, copy, 1,
                         [](std::uint16_t x) { return x; });
          }
          words[i] = load_anywhere<float>(reinterpret_cast<const std::byte*>(copy));
        }
      }
#pragma GCC unroll 16
      for (auto& word : words) word = scale(word, broadcast(power));
      transpose(words);
      store_block<float>(words, int(smaller(lanes, (columns - d + 1) / 2)),
                         group.queries + d / 2 * kWidth + r0, kWidth);
    }
  }
}

/// Rows of K: in place where whole words of neighbours can be read there, else copied block by
/// block.
class PairedColumns {
 public:
  struct Rows {
    const std::uint16_t* first = nullptr;  ///< row of the block's first key
    std::int64_t row = 0;
  };

  PairedColumns(const contract::Source& source, std::int64_t columns, std::uint16_t* panel)
      : source_(source),
        columns_(columns),
        panel_(panel),
        copies_(source.column != 1 || columns % 2 != 0) {}

  void enter(Keys block) {
    block_ = block;
    __builtin_memset(has_, 0, sizeof(has_));
  }

  Rows read(const BlockView& view) {
    if (!copies_) {
      return {halves_at(source_, 0, block_.begin, 0), source_.row};
    }
    const std::int64_t width = ceil_to(columns_, 2);
    for (int n = 0; n < view.run_count; ++n) {
      for (std::int64_t key = view.runs[n].begin; key < view.runs[n].end; ++key) {
        if (has_[key] || view.seen[key] == 0) continue;
        has_[key] = true;
        panel_[key * width + width - 1] = 0;
        convert_each(halves_at(source_, 0, block_.begin + key, 0), source_.column, columns_,
                     panel_ + key * width, 1, [](std::uint16_t x) { return x; });
      }
    }
    return {panel_, width};
  }

 private:
  contract::Source source_;
  std::int64_t columns_;
  std::uint16_t* panel_;
  bool copies_;
  Keys block_;
  bool has_[kBlockKeys];
};

/// Writes rows of V two by two: word (key / 2, column) holds the column of both keys. What is not
/// finite is 0 there, as 0 times it would not be 0; the keys that have such values are noted.
class PairWriter {
 public:
  /// Columns up to `width` are 0.
  PairWriter(const contract::Source& source, std::int64_t columns, std::int64_t width)
      : source_(source), columns_(columns), width_(width) {}

  std::int64_t columns() const { return columns_; }
  std::int64_t width() const { return width_; }
  /// By key of the block: some value of it is not finite. Null where that is so for none.
  const bool* odd() const { return any_odd_ ? odd_ : nullptr; }

  void enter(Keys block) {
    block_ = block;
    any_odd_ = false;
    __builtin_memset(odd_, 0, sizeof(odd_));
  }

  /// Rows can be read by `interleave`.
  bool dense() const { return source_.column == 1; }

  /// `count` columns, at most kHalves, from d on of the rows of keys `key` and the next, then 0.
  /// That all are finite is for the caller to see to.
  [[gnu::always_inline]] inline void interleave(std::int64_t key, std::int64_t d,
                                                std::int64_t count, std::uint32_t* words,
                                                LargestHalves& largest) const {
    Halves low, high;
    load_halves(row_of(key) + d, count, low);
    load_halves(row_of(key + 1) + d, count, high);
    largest.add(low);
    largest.add(high);
    regard::REGARD_ISA::interleave(low, high, words);
  }

  /// Keys `key` and the next; those whose bit of `wanted` is clear are 0 and not read.
  void write(std::int64_t key, std::uint32_t wanted, std::uint32_t* words) {
    static constexpr std::uint16_t kNothing = 0;
    const bool low_wanted = (wanted & 1) != 0, high_wanted = (wanted & 2) != 0;
    const std::uint16_t* low = low_wanted ? row_of(key) : &kNothing;
    const std::uint16_t* high = high_wanted ? row_of(key + 1) : &kNothing;
    const std::int64_t low_step = low_wanted ? source_.column : 0;
    const std::int64_t high_step = high_wanted ? source_.column : 0;
    std::uint32_t odd = 0;
    if (low_step != 1 || high_step != 1 || !write_finite(key, words)) {
      for (std::int64_t n = 0; n < columns_; ++n) {
        words[n] = finite_word(low[n * low_step], high[n * high_step], odd);
      }
    }
    for (std::int64_t n = columns_; n < width_; ++n) words[n] = 0;
    if (odd == 0) return;
    odd_[key] |= (odd & 1) != 0;
    odd_[key + 1] |= (odd & 2) != 0;
    any_odd_ = true;
  }

 private:
  const std::uint16_t* row_of(std::int64_t key) const {
    return halves_at(source_, 0, block_.begin + key, 0);
  }

  /// Both rows, dense; false if some number is not finite.
  [[gnu::always_inline]] inline bool write_finite(std::int64_t key, std::uint32_t* words) const {
    LargestHalves largest;
    std::int64_t d = 0;
    for (; d + kHalves <= columns_; d += kHalves) interleave(key, d, kHalves, words + d, largest);
    if (d < columns_) {
      std::uint32_t last[kHalves];
      interleave(key, d, columns_ - d, last, largest);
      __builtin_memcpy(words + d, last, std::size_t(columns_ - d) * sizeof(*words));
    }
    return largest.are_finite();
  }

  /// The pair as a word; a half that is not finite becomes 0 and sets its bit of `odd`.
  [[gnu::always_inline]] static inline std::uint32_t finite_word(std::uint16_t low,
                                                                 std::uint16_t high,
                                                                 std::uint32_t& odd) {
    const bool low_odd = (low & 0x7f80) == 0x7f80;
    const bool high_odd = (high & 0x7f80) == 0x7f80;
    odd |= std::uint32_t(low_odd) | std::uint32_t(high_odd) << 1;
    return (low_odd ? 0 : std::uint32_t(low)) | (high_odd ? 0 : std::uint32_t(high) << 16);
  }

  contract::Source source_;
  std::int64_t columns_;
  std::int64_t width_;
  Keys block_;
  bool any_odd_ = false;
  bool odd_[kMostBlockKeys];
};

/// Rows of V as words (key / 2, column), columns past Dv up to a multiple of kColumns and keys that
/// no group has seen being 0.
template <int kColumns>
class PairedKeys {
 public:
  struct Rows {
    const std::uint16_t* first = nullptr;
    std::int64_t row = 0;       ///< from one pair of keys to the next
    const bool* odd = nullptr;  ///< PairWriter::odd
  };

  PairedKeys(const contract::Source& source, std::int64_t columns, std::uint16_t* panel)
      : pairs_(source, columns, ceil_to(columns, kColumns)),
        words_(reinterpret_cast<std::uint32_t*>(panel)) {}

  void enter(Keys block) {
    pairs_.enter(block);
    __builtin_memset(has_, 0, sizeof(has_));
  }

  Rows read(const BlockView& view) {
    for (int n = 0; n < view.run_count; ++n) {
      for (std::int64_t key = view.runs[n].begin; key < view.runs[n].end; key += 2) {
        const std::uint32_t seen =
            (view.seen[key] != 0 ? 1 : 0) | (view.seen[key + 1] != 0 ? 2 : 0);
        const std::uint32_t wanted = has_[key / 2] | seen | kWritten;
        if (has_[key / 2] == wanted) continue;
        pairs_.write(key, wanted, words_ + key / 2 * pairs_.width());
        has_[key / 2] = std::uint8_t(wanted);
      }
    }
    return {reinterpret_cast<const std::uint16_t*>(words_), 2 * pairs_.width(), pairs_.odd()};
  }

 private:
  static constexpr std::uint32_t kWritten = 4;

  PairWriter pairs_;
  std::uint32_t* words_;
  std::uint8_t has_[kBlockKeys / 2];  ///< bits 0 and 1: that key of the pair; then kWritten
};

/// Adds p v where v is not finite, in the rows that see it; no other row is touched. P is a panel
/// of pairs of keys, (keys / 2, kWidth).
template <int kWidth, class Visit>
void add_not_finite(const Visit& visit) {
  const bool* odd = visit.v.odd;
  const auto* weights = reinterpret_cast<const std::uint16_t*>(visit.p);
  for (int n = 0; n < visit.view.run_count; ++n) {
    for (std::int64_t key = visit.view.runs[n].begin; key < visit.view.runs[n].end; ++key) {
      if (!odd[key] || visit.view.seen[key] == 0) continue;
      for (std::int64_t d = 0; d < visit.task.value_dims; ++d) {
        float v = 0;
        const std::byte* at = element_at(visit.task.v, 0, visit.view.block.begin + key, d);
        read_elements<float>(visit.task.v.type, at, 1, 1, &v);
        if (v - v == 0) continue;
        for (int r = 0; r < visit.group.count; ++r) {
          if (!(visit.view.seen[key] >> r & 1)) continue;
          const std::uint16_t p = weights[2 * (key / 2 * kWidth + r) + key % 2];
          visit.group.out[d * kWidth + r] += bf16_to_f32(p) * v;
        }
      }
    }
  }
}

}  // namespace regard::REGARD_ISA
