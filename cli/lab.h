// The two labs as functions, for `regard lab` and `regard demo`. Each prints what it finds and
// counts its claims in a Report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "report.h"

namespace regard::cli {

struct CausalLab {
  /// Any of these makes a random lab; all absent: the shipped input.
  std::optional<std::int64_t> seed, tokens, d_model, d_head;
  bool scale = true;
  std::string save;  ///< a .npz file for all arrays, or empty
};
void show_causal_lab(const CausalLab& lab, Report& report);

struct BlockedLab {
  std::optional<std::int64_t> block;  ///< for every size; absent: a choice of sizes
  std::uint64_t seed = 0;
};
void show_blocked_lab(const BlockedLab& lab, Report& report);

}  // namespace regard::cli
