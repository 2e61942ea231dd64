#include "bench_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "command.h"
#include "flags.h"

namespace regard::cli {
namespace {

constexpr char kWindow[] = "window:";
constexpr std::int64_t kLongest = std::numeric_limits<std::int32_t>::max();  ///< axis of a call

/// The numbers of queries and of keys.
struct Sides {
  std::int64_t queries = 0, keys = 0;
};

std::string sides_text(std::int64_t queries, std::int64_t keys) {
  return queries == keys ? std::to_string(queries) : fmt::format("{}/{}", queries, keys);
}

[[noreturn]] void refuse_shape(const std::string& name, const std::string& text) {
  throw Error(fmt::format(
      "{}: '{}' is not BxHxSxD, four numbers of at least 1; H, S and D may be two, queries/keys",
      name, text));
}

std::vector<Sides> parse_sides(const std::string& name, const std::string& text) {
  std::vector<Sides> parts;
  for (const std::string& part : split(text, 'x')) {
    const std::vector<std::int64_t> numbers = parse_integers(name, part, '/');
    const bool positive = std::all_of(numbers.begin(), numbers.end(), [](auto n) { return n > 0; });
    if (numbers.size() > 2 || !positive) refuse_shape(name, text);
    parts.push_back({numbers.front(), numbers.back()});
  }
  return parts;
}

double elements(const Shape& shape) {
  double product = 1;
  for (const std::int64_t length : shape) product *= double(length);
  return product;
}

BenchMask parse_window(const std::string& name, const std::string& text) {
  const std::string numbers = text.substr(std::string(kWindow).size());
  const std::vector<std::int64_t> ends = parse_integers(name, numbers, ',');
  if (ends.size() != 2 || ends[0] < -1 || ends[1] < -1) {
    throw Error(fmt::format("{}: '{}' is not {}LEFT,RIGHT, two numbers of at least -1", name, text,
                            kWindow));
  }
  return {Causal::none, {ends[0], ends[1]}};
}

BenchMask parse_mask(const std::string& name, const std::string& text) {
  if (text.starts_with(kWindow)) return parse_window(name, text);
  constexpr Causal alignments[] = {Causal::none, Causal::top_left, Causal::bottom_right};
  // The last of the words is there to be read: a text that is it has gone the other way.
  const std::size_t word = parse_choice(
      name, text, {"plain", "causal", "bottom_right", std::string(kWindow) + "LEFT,RIGHT"});
  return {alignments[word], {}};
}

/// Pairs of a row and a key with key - row < end. From row `some` on a row has such keys, one more
/// than the row before, and from row `all` on every key is one. Below 2^63 with axes below 2^31.
std::int64_t pairs_before(const BenchShape& shape, std::int64_t end) {
  const std::int64_t some = std::clamp<std::int64_t>(1 - end, 0, shape.rows);
  const std::int64_t all = std::clamp<std::int64_t>(shape.keys - end, some, shape.rows);
  const std::int64_t least = some + end, most = all - 1 + end;
  return (all - some) * (least + most) / 2 + (shape.rows - all) * shape.keys;
}

/// Pairs of a row and a key that it sees, of one head. By a formula: a file may name many shapes of
/// any size.
double seen_pairs(const BenchShape& shape, const BenchMask& mask) {
  const std::int64_t offset = mask.causal == Causal::bottom_right ? shape.keys - shape.rows : 0;
  const std::int64_t everything = shape.rows + shape.keys;
  const auto reach = [&](std::int64_t side) {
    return side < 0 ? everything : std::min(side, everything);
  };
  const std::int64_t right = mask.causal == Causal::none ? reach(mask.window.right) : 0;
  const std::int64_t left = reach(mask.window.left);
  return double(pairs_before(shape, offset + right + 1) - pairs_before(shape, offset - left));
}

}  // namespace

double Workload::operations() const {
  const bool windowed = mask.window.left >= 0 || mask.window.right >= 0;
  const bool half = mask.causal != Causal::none && shape.rows == shape.keys && !windowed;
  const double pairs = half ? double(shape.rows) * double(shape.keys) / 2 : seen_pairs(shape, mask);
  return 2 * double(shape.batch) * double(shape.heads) * pairs *
         double(shape.head_dim + shape.value_dim);
}

std::int64_t count_of(const Shape& shape) {
  return shape[0] * shape[1] * shape[2] * shape[3];
}

std::string text_of(const BenchShape& shape) {
  return fmt::format("{}x{}x{}x{}", shape.batch, sides_text(shape.heads, shape.kv_heads),
                     sides_text(shape.rows, shape.keys),
                     sides_text(shape.head_dim, shape.value_dim));
}

std::string text_of(const BenchMask& mask) {
  if (mask.window.left >= 0 || mask.window.right >= 0) {
    return fmt::format("{}{},{}", kWindow, mask.window.left, mask.window.right);
  }
  return mask.causal == Causal::none       ? "plain"
         : mask.causal == Causal::top_left ? "causal"
                                           : "bottom_right";
}

std::string key_of(const Workload& workload) {
  return fmt::format("{} {} {} {}", text_of(workload.shape), text_of(workload.mask),
                     dtype_name(workload.dtype), workload.threads);
}

BenchShape parse_shape(const std::string& name, const std::string& text) {
  const std::vector<Sides> parts = parse_sides(name, text);
  if (parts.size() != 4 || parts[0].queries != parts[0].keys) refuse_shape(name, text);
  const auto [heads, kv_heads] = parts[1];
  if (heads % kv_heads != 0) {
    throw Error(fmt::format("{}: '{}': {} query heads are no multiple of {} KV heads", name, text,
                            heads, kv_heads));
  }
  const BenchShape shape = {parts[0].queries, heads,         kv_heads,
                            parts[2].queries, parts[2].keys, parts[3].queries,
                            parts[3].keys};
  for (const Shape& array : {shape.q(), shape.k(), shape.v(), shape.out()}) {
    if (elements(array) > 0x1p40) {
      throw Error(fmt::format("{}: {} is larger than any memory", name, text));
    }
    if (*std::max_element(array.begin(), array.end()) > kLongest) {
      throw Error(fmt::format("{}: {} has an axis longer than {}", name, text, kLongest));
    }
  }
  return shape;
}

DType parse_dtype(const std::string& name, const std::string& text) {
  constexpr DType dtypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16};
  std::vector<std::string> words;
  for (const DType dtype : dtypes) words.emplace_back(dtype_name(dtype));
  return dtypes[parse_choice(name, text, words)];
}

std::vector<BenchMask> parse_masks(const std::string& name, const std::string& text) {
  std::vector<std::string> words;
  for (const std::string& part : split(text, ',')) {
    const bool number = part.find_first_not_of("-0123456789") == std::string::npos;
    if (number && !part.empty() && !words.empty() && words.back().starts_with(kWindow)) {
      words.back() += "," + part;
    } else {
      words.push_back(part);
    }
  }
  std::vector<BenchMask> masks;
  for (const std::string& word : words) masks.push_back(parse_mask(name, word));
  return masks;
}

}  // namespace regard::cli
