// Weights of a block by a tile unit: scores come piece by piece, 32 keys x 32 rows, and while the
// unit multiplies for one, the vectors turn another into weights. Plain form, out alone.
#pragma once

#include <cstdint>

#include "kernels/direct_scores.h"
#include "prim/prim.h"
#include "prim/tile_operand.h"

namespace regard::REGARD_ISA {

/// Two tiles x two tiles of the block's scores.
struct Piece {
  std::int64_t key = 0;  ///< first one, of the block
  int row = 0;           ///< first one, of the group
  bool copied = false;   ///< its keys are read from the panel
  bool partial = false;  ///< some of its pairs are hidden

  static constexpr int kSide = 2 * kTileSide;
  /// A step makes the weights of two keys for 16 rows.
  static constexpr int kSteps = kSide / 2 * (kSide / kTileSide);
};

/// Makes the weights of a piece from its scores, kEach steps beside each product.
template <bool kPartial, int kEach, class U>
class PieceWeights {
 public:
  using Power = typename U::RoughPower;

  PieceWeights(const Visit<U>& visit, const Piece& piece, const float* scores, const Power& power)
      : factor_(in_register(broadcast(visit.factor))),
        seen_(visit.view.seen + piece.key),
        m_(visit.group.m + piece.row),
        scores_(scores),
        p_(visit.p + piece.key / 2 * U::kWidth + piece.row),
        row_(piece.row),
        power_(power) {}

  [[gnu::always_inline]] void operator()(int n) const {
    if (n < Piece::kSteps / kEach) weigh(n * kEach);
  }

 private:
  /// kEach steps from `step` on, for the same rows.
  [[gnu::always_inline]] void weigh(int step) const {
    constexpr int lanes = Simd<float>::kLanes;
    constexpr int pairs = Piece::kSide / 2;
    const int first_row = step / pairs * kTileSide;
    const int first_pair = step % pairs;
    for (int row = first_row; row < first_row + kTileSide; row += lanes) {
      const RoughExponent<false, false> exponent(load(m_ + row), factor_, 1);
#pragma GCC unroll 8
      for (int pair = first_pair; pair < first_pair + kEach; ++pair) {
        Simd<float>::Vector z[2];
#pragma GCC unroll 2
        for (int n = 0; n < 2; ++n) {
          z[n] = exponent(load(scores_ + (2 * pair + n) * Piece::kSide + row));
          if constexpr (kPartial) {
            z[n] = select(lanes_of<float>(seen_[2 * pair + n] >> (row_ + row)), z[n],
                          broadcast(kRoughNothing));
          }
        }
        store(p_ + pair * U::kWidth + row, power_(z[0], z[1]));
      }
    }
  }

  Simd<float>::Vector factor_;
  const std::uint64_t* seen_;
  const float* m_;
  const float* scores_;
  float* p_;
  int row_;
  Power power_;
};

/// The pieces of a block that some row sees. Weights of the others are set to 0.
template <class U>
struct Pieces {
  static constexpr int kMost = int(U::kBlockKeys) / Piece::kSide * U::kWidth / Piece::kSide;

  Piece piece[kMost];
  int count = 0;

  Pieces(const Visit<U>& visit, int rows) {
    for (int n = 0; n < visit.view.run_count; ++n) {
      const Run& run = visit.view.runs[n];
      for (auto key = run.begin; key < run.end; key += Piece::kSide) {
        for (int row = 0; row < rows; row += Piece::kSide) add(visit, run.full, key, row);
      }
    }
  }

 private:
  void add(const Visit<U>& visit, bool full, std::int64_t key, int row) {
    std::uint64_t some = 0;
    std::uint64_t every = ~std::uint64_t{0};
    if (!full) {
      for (int i = 0; i < Piece::kSide; ++i) {
        some |= visit.view.seen[key + i] >> row;
        every &= visit.view.seen[key + i] >> row;
      }
      if (std::uint32_t(some) == 0) {
        for (int i = 0; i < Piece::kSide / 2; ++i) {
          float* p = visit.p + (key / 2 + i) * U::kWidth + row;
          __builtin_memset(p, 0, Piece::kSide * sizeof(*p));
        }
        return;
      }
    }
    const bool partial = !full && std::uint32_t(every) != std::uint32_t(visit.view.live >> row);
    piece[count++] = {key, row, !full, partial};
  }
};

/// P of the block.
template <class U>
class TileWeights {
 public:
  explicit TileWeights(const Visit<U>& visit)
      : visit_(visit), chunks_(ceil_to(visit.task.dims, kTileTerms) / kTileTerms) {}

  void weigh(int rows) {
    const Pieces<U> pieces(visit_, rows);
    for (int n = 0; n < pieces.count; ++n) {
      if (n < 2) {
        multiply(pieces.piece[n], n, NothingBeside{});
      } else {
        multiply_beside(pieces.piece[n], pieces.piece[n - 2], n);
      }
      if (pieces.piece[n].row == 0) visit_.ahead.ask();
    }
    tiles_.template store<2, 2>(scores_of(pieces.count - 1));
    for (int n = pieces.count > 1 ? pieces.count - 2 : 0; n < pieces.count; ++n) {
      pieces.piece[n].partial ? finish<true>(pieces.piece[n], n)
                              : finish<false>(pieces.piece[n], n);
    }
  }

 private:
  /// Scores of piece n - 1 leave the registers as those of piece n need them.
  template <class Beside>
  [[gnu::always_inline]] inline void multiply(const Piece& piece, int n, const Beside& beside) {
    const TileStart start{n > 0 ? scores_of(n - 1) : TileSums{}, {}};
    tiles_.template multiply<2, 2>(start, U::keys(visit_, piece.key, piece.copied),
                                   U::queries(visit_, piece.row), chunks_, beside);
  }

  /// The same while piece n - 2 becomes weights, in as few steps a product as do.
  void multiply_beside(const Piece& piece, const Piece& before, int n) {
    if (chunks_ == 1) {
      multiply_in_steps<8>(piece, before, n);
    } else if (chunks_ < 4) {
      multiply_in_steps<4>(piece, before, n);
    } else {
      multiply_in_steps<2>(piece, before, n);
    }
  }
  template <int kEach>
  [[gnu::always_inline]] inline void multiply_in_steps(const Piece& piece, const Piece& before,
                                                       int n) {
    const float* scores = scores_of(n).at;
    if (before.partial) {
      multiply(piece, n, PieceWeights<true, kEach, U>(visit_, before, scores, power_));
    } else {
      multiply(piece, n, PieceWeights<false, kEach, U>(visit_, before, scores, power_));
    }
  }

  template <bool kPartial>
  void finish(const Piece& piece, int n) {
    constexpr int each = 8;
    const PieceWeights<kPartial, each, U> weights(visit_, piece, scores_of(n).at, power_);
    for (int step = 0; step < Piece::kSteps / each; ++step) weights(step);
  }

  TileSums scores_of(int n) { return {scores_[n % 2], Piece::kSide}; }

  alignas(64) float scores_[2][Piece::kSide * Piece::kSide];
  typename U::RoughPower power_;
  const Visit<U>& visit_;
  std::int64_t chunks_;
  typename U::TileRegisters tiles_;
};

}  // namespace regard::REGARD_ISA
