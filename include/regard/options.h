// What attention means in one call. Names and meanings are the same in every language and on the
// command line; an absent option is off. docs/math.md gives the formulas.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "regard/tensor.h"

namespace regard {

/// Where query row 0 stands among the keys. Row i has position i + offset and sees key j iff
/// j <= position; without causal every key is seen.
enum class Causal : std::uint8_t {
  none,
  top_left,      ///< offset 0: row 0 sees key 0 alone
  bottom_right,  ///< offset Skv - Sq: the last row sees every key
};

/// How the engine computes; `automatic` chooses by shape, type and ISA, never by values.
enum class Path : std::uint8_t { automatic, direct, tiles, decode };

enum class Precision : std::uint8_t {
  default_,  ///< half types may round weights to the element type
  high,      ///< weights stay f32
};

/// Keys seen around a row's position, the own position not counted, both ends inclusive;
/// -1 is unlimited.
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
  /// magnitude at most half of the type's largest number, and 0 or a normal number.
  std::optional<double> scale;
  Causal causal = Causal::none;
  /// Replaces the offset of `causal`: empty, one number, or one a batch entry.
  std::span<const std::int64_t> q_offset;
  Path path = Path::automatic;
  /// Threads for this call, at most as many as the context has; 0: all of them.
  int threads = 0;
  /// Query rows whose weights are wanted, in this order; empty: all of them.
  std::span<const std::int64_t> rows;
  /// Polled between work items from any thread; true stops the call with `cancelled`. It must not
  /// call back into the same context.
  std::function<bool()> cancel;

  // Part of the conventions, not yet served: a call that sets one is `unsupported`.
  Window window;
  double softcap = 0;
  ConstTensor mask;
  ConstTensor bias;
  ConstTensor alibi_slopes;
  ConstTensor sinks;
  std::span<const std::int64_t> q_len;
  std::span<const std::int64_t> kv_len;
  Precision precision = Precision::default_;
};

}  // namespace regard
