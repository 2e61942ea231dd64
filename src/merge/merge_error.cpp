// docs/numerics.md, "Merging parts", derives what is added up here.
#include <cmath>
#include <limits>

#include "regard/merge.h"

namespace regard {
namespace {

constexpr double kRoundoff = std::numeric_limits<double>::epsilon() / 2;
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();
constexpr double kEmpty = -std::numeric_limits<double>::infinity();

/// Of storing an f64 number: relative roundoff, and half the spacing of the smallest numbers.
struct Storage {
  double roundoff;
  double floor;
};

Storage storage(DType dtype) noexcept {
  // Half types are rounded to f32 first.
  switch (dtype) {
    case DType::f32:
      return {0x1p-24, 0x1p-150};
    case DType::f16:
      return {0x1p-11 + 0x1p-24, 0x1p-25 + 0x1p-150};
    case DType::bf16:
      return {0x1p-8 + 0x1p-24, 0x1p-134 + 0x1p-150};
    case DType::f64:
    case DType::boolean:
    case DType::i64:
      break;
  }
  return {0, 0};
}

double lse_of(std::span<const PartElement> parts, double sink) noexcept {
  double largest = sink, sum = 0;
  for (const PartElement& part : parts) largest = std::fmax(largest, part.lse);
  if (largest == kEmpty) return kEmpty;
  for (const PartElement& part : parts) sum += std::exp(part.lse - largest);
  return largest + std::log(sum + std::exp(sink - largest));
}

}  // namespace

MergeError merge_error(std::span<const PartElement> parts, double sink, DType out,
                       DType lse) noexcept {
  const double whole = lse_of(parts, sink);
  if (whole == kEmpty) return {};
  const double terms = double(parts.size()) + (sink == kEmpty ? 0 : 1);
  double merged = 0;
  for (const PartElement& part : parts) {
    if (part.lse != kEmpty) merged += std::exp(part.lse - whole) * part.out;
  }
  MergeError error;
  const auto add = [&](const PartElement& part) {
    if (part.lse == kEmpty) return;
    const double share = std::exp(part.lse - whole);
    // Of e^(lse_n - m), relative; m is within ln(terms) of the whole.
    const double weight =
        part.lse_error + kRoundoff * (std::abs(part.lse - whole) + std::log(terms) + 2);
    error.lse += share * weight;
    error.out += share * (part.out_error + weight * std::abs(part.out - merged) +
                          2 * terms * kRoundoff * std::abs(part.out)) +
                 kSmallest * (1 + std::abs(part.out));
  };
  for (const PartElement& part : parts) add(part);
  add({.out = 0, .out_error = 0, .lse = sink, .lse_error = 0});
  error.out += storage(out).roundoff * std::abs(merged) + storage(out).floor;
  error.lse += kRoundoff * (terms + 2 * std::log(terms) + std::abs(whole)) +
               storage(lse).roundoff * std::abs(whole) + storage(lse).floor;
  return error;
}

}  // namespace regard
