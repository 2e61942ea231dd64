// What `regard bench` measures: points of a grid of shapes, masks, types and threads, in the words
// of the command line, which are those of its JSON files too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "regard/options.h"
#include "regard/tensor.h"

namespace regard::cli {

/// "1x8x1024x64" is BxHxSxD. H, S and D may be two numbers, of queries / of keys and values:
/// Hq/Hkv, Sq/Skv, D/Dv.
struct BenchShape {
  std::int64_t batch = 1, heads = 8, kv_heads = 8, rows = 1024, keys = 1024, head_dim = 64,
               value_dim = 64;

  Shape q() const { return {batch, heads, rows, head_dim}; }
  Shape k() const { return {batch, kv_heads, keys, head_dim}; }
  Shape v() const { return {batch, kv_heads, keys, value_dim}; }
  Shape out() const { return {batch, heads, rows, value_dim}; }
  /// One number each for B, H, S and D.
  bool plain() const { return heads == kv_heads && rows == keys && head_dim == value_dim; }
};

/// "plain", "causal" (top_left), "bottom_right" or "window:L,R".
struct BenchMask {
  Causal causal = Causal::none;
  Window window;
};

inline constexpr int kMostThreads = 1024;
/// Rows of each result that are checked before it is timed.
inline constexpr std::int64_t kCheckedRows = 16;

struct Workload {
  BenchShape shape;
  BenchMask mask;
  DType dtype = DType::f32;
  int threads = 1;

  /// 2 (D + Dv) for each pair of a query head's row and a key. Of square causal ones half of the
  /// pairs count, of other masks those that are seen.
  double operations() const;
};

/// Elements of an array.
std::int64_t count_of(const Shape& shape);

std::string text_of(const BenchShape& shape);
std::string text_of(const BenchMask& mask);
/// Equal where all four parts are.
std::string key_of(const Workload& workload);

/// `name` is who speaks in the sentence of an Error: the flag, or the place in a file.
BenchShape parse_shape(const std::string& name, const std::string& text);
DType parse_dtype(const std::string& name, const std::string& text);
/// "plain,window:255,0": numbers belong to the window before them.
std::vector<BenchMask> parse_masks(const std::string& name, const std::string& text);

}  // namespace regard::cli
