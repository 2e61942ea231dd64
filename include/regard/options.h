// What attention means in one call. Names and meanings are the same in every language and on the
// command line; an absent option is off. docs/math.md gives the formulas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "regard/tensor.h"

namespace regard {

/// How keys are seen from a row's position. Row i of batch entry b has position i + offset[b] and
/// sees key j iff j <= position; without causal it sees every key.
enum class Causal : std::uint8_t {
  none,          ///< offset 0
  top_left,      ///< offset 0: row 0 sees key 0 alone
  bottom_right,  ///< offset kv_len[b] - q_len[b] (Skv, Sq where absent): the last row sees all
};

/// How the engine computes.
enum class Path : std::uint8_t {
  automatic,  ///< by shape, type, precision and ISA, never by values
  direct,     ///< in f32 or f64, half types converted
  tiles,      ///< products of bf16 by a unit of the CPU, or slowly by an emulated one. Takes bf16
              ///< alone (else unsupported) and no Precision::high (invalid_argument)
  decode,     ///< few query rows: each row of K and V is read once for all that share it
};

/// "direct"; "unknown" for a value outside the enumeration.
constexpr const char* path_name(Path path) noexcept {
  constexpr const char* names[] = {"auto", "direct", "tiles", "decode"};
  return path <= Path::decode ? names[int(path)] : "unknown";
}

enum class Precision : std::uint8_t {
  default_,  ///< half types may round weights to the element type, and count bf16 below 2^-126 as 0
  high,      ///< weights stay f32
};

/// "high"; "unknown" for a value outside the enumeration.
constexpr const char* precision_name(Precision precision) noexcept {
  constexpr const char* names[] = {"default", "high"};
  return precision <= Precision::high ? names[int(precision)] : "unknown";
}

/// What the numbers of `Outputs::weights` are: scores on their way to weights, in this order.
/// Before `softmax` a hidden pair is -infinity, whatever stands there.
enum class Stage : std::uint8_t {
  softmax,  ///< the weights themselves
  scaled,   ///< scale q.k
  capped,   ///< after softcap
  biased,   ///< after bias and ALiBi
};

/// Keys seen around a row's position, the own position not counted, both ends inclusive: position
/// - left <= j <= position + right; -1 is unlimited.
struct Window {
  std::int64_t left = -1;
  std::int64_t right = -1;
};

/// The window in which a row sees itself and the count - 1 keys before it.
constexpr Window last_n_keys(std::int64_t count) noexcept {
  return {count - 1, 0};
}

struct Options {
  /// Factor on q.k; absent: 1/sqrt(D). Used as given, zero and negative included; its
  /// magnitude at most half of the compute type's largest number, and 0 or a normal number.
  std::optional<double> scale;
  /// A score s becomes softcap tanh(s / softcap); 0 is off, below 0 an error. It and its inverse
  /// are normal numbers of the compute type.
  double softcap = 0;
  /// Added to the scores: a float type, f32 or f64 or that of q, broadcast against
  /// (B, Hq, Sq, Skv). -infinity hides the pair; +infinity and NaN spoil the row.
  ConstTensor bias;
  /// ALiBi: -slope |position - j| is added to a score. (1 or B, Hq, 1, 1), types as for bias.
  ConstTensor alibi_slopes;
  /// One more logit in the denominator of each query head, neither scaled nor capped, of value 0.
  /// (1, Hq, 1, 1), types as for bias; -infinity is none.
  ConstTensor sinks;
  /// boolean, true where the row sees the key; broadcast against (B, Hq, Sq, Skv).
  ConstTensor mask;
  Causal causal = Causal::none;
  /// Replaces the offset of `causal`, and moves window and ALiBi: empty, one number, or one a batch
  /// entry.
  std::span<const std::int64_t> q_offset;
  Window window;
  /// Rows and keys of each batch entry that exist; empty: all. A row past the end gives 0 and
  /// -infinity, sinks or not.
  std::span<const std::int64_t> q_len;
  std::span<const std::int64_t> kv_len;

  Precision precision = Precision::default_;
  Path path = Path::automatic;
  /// Threads for this call, at most as many as the context has; 0: all of them.
  int threads = 0;
  /// Query rows whose weights are wanted, each in [0, Sq), in this order, repeats allowed; empty:
  /// all of them.
  std::span<const std::int64_t> rows;
  Stage weights_stage = Stage::softmax;
  /// Memory for this call, and no other at the same time, instead of the context's: 64-byte
  /// aligned, at least as long as `explain` says. Of no bytes: not given.
  std::span<std::byte> scratch;
  /// Polled between work items from any thread; true stops the call with `cancelled`. It must not
  /// call back into the same context.
  std::function<bool()> cancel;
};

}  // namespace regard
