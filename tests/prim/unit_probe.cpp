// Compiled once per ISA.
#include "prim/unit_probe.h"

#include "prim/prim.h"
#include "prim/tile_emulated.h"
#if defined(__AMX_BF16__)
#include "prim/tile_amx.h"
#endif

namespace regard::REGARD_ISA {
namespace {

TileOperand operand(const test::TilePlace& place) {
  return {place.first, place.row, place.tile, place.chunk};
}

/// One product whose sums start from c, or from 0, and go there; beside(n) has to come once for
/// each product of tiles, in order.
template <class Tiles, int kRows, int kColumns>
void multiply(const test::TileProduct& p) {
  Tiles tiles;
  const TileSums sums{p.c, p.c_row};
  int count = 0;
  const auto beside = [&](int n) { count = n == count ? n + 1 : -1; };
  tiles.template multiply<kRows, kColumns>({{}, p.add ? sums : TileSums{}}, operand(p.a),
                                           operand(p.b), p.first_chunks, beside);
  if (p.first_chunks < p.chunks) {
    TileOperand a = operand(p.a), b = operand(p.b);
    a.first += p.first_chunks * a.chunk;
    b.first += p.first_chunks * b.chunk;
    tiles.template add<kRows, kColumns>(a, b, p.chunks - p.first_chunks);
  }
  if (p.held) {
    // Another product takes the registers, so that they give what they hold.
    tiles.template multiply<kRows, kColumns>({sums, {}}, operand(p.a), operand(p.b), 1);
  } else {
    tiles.template store<kRows, kColumns>(sums);
  }
  if (count != p.first_chunks * kRows * kColumns) p.c[0] = __builtin_nanf("");
}

template <class Tiles>
void multiply_any(const test::TileProduct& p) {
  const FlushDenormals flush;
  [[maybe_unused]] const typename Tiles::Session session;
  if (p.rows == 2) {
    multiply<Tiles, 2, 2>(p);
  } else {
    p.columns == 2 ? multiply<Tiles, 1, 2>(p) : multiply<Tiles, 1, 4>(p);
  }
}

template <class Pairs>
void apply_pairs(const float* low, const float* high, std::uint32_t* words, const Pairs& pairs) {
  const FlushDenormals flush;
  for (int n = 0; n < 16; n += Simd<float>::kLanes) {
    alignas(64) float both[Simd<float>::kLanes];
    store(both, pairs(load(low + n), load(high + n)));
    __builtin_memcpy(words + n, both, sizeof(both));
  }
}

/// What the loop makes of an exponent: src/prim/rough_exp2.h.
Simd<float>::Vector rough_z(Simd<float>::Vector x) {
  return minimum(broadcast(kRoughNothing), fma(x, broadcast(kRoughScale), broadcast(kRoughOffset)));
}

template <class Tiles>
constexpr test::TileProbe kTiles = {
    .multiply = multiply_any<Tiles>,
    .pairs =
        [](const float* low, const float* high, std::uint32_t* words) {
          apply_pairs(low, high, words, [](auto x, auto y) { return Tiles::bf16_pairs(x, y); });
        },
    .rough_exp2 =
        [](const float* low, const float* high, std::uint32_t* words) {
          apply_pairs(low, high, words, [](auto x, auto y) {
            return typename Tiles::RoughPower()(rough_z(x), rough_z(y));
          });
        },
};

#if defined(__AVX512BF16__)
constexpr test::DotProbe kDot = {
    .dot =
        [](const std::uint16_t* pair, const std::uint32_t* b, float* c) {
          const FlushDenormals flush;
          const auto right = load(reinterpret_cast<const float*>(b));
          store(c, dot(broadcast_pair(pair), right, load(c)));
        },
    .pairs =
        [](const float* low, const float* high, std::uint32_t* words) {
          apply_pairs(low, high, words, [](auto x, auto y) { return bf16_pairs(x, y); });
        },
    .rough_exp2 =
        [](const float* low, const float* high, std::uint32_t* words) {
          apply_pairs(low, high, words,
                      [](auto x, auto y) { return RoughPower()(rough_z(x), rough_z(y)); });
        },
};
#else
constexpr test::DotProbe kDot = {};
#endif
#if defined(__AMX_BF16__)
constexpr test::TileProbe kHardwareTiles = kTiles<AmxTiles>;
#else
constexpr test::TileProbe kHardwareTiles = {};
#endif

}  // namespace

extern const test::UnitProbes kUnitProbes;
constinit const test::UnitProbes kUnitProbes = {kTiles<EmulatedTiles>, kHardwareTiles, kDot};

}  // namespace regard::REGARD_ISA
