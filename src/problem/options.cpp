// Checks the options of a problem whose shapes are known, and broadcasts their tensors.
#include <cmath>
#include <limits>
#include <string>
#include <tuple>

#include "base/status_text.h"
#include "problem/problem.h"

namespace regard::problem {
namespace {

using base::invalid;
using base::text;
using base::unsupported;
using std::to_string;

double largest(DType dtype) {
  return dtype == DType::f64 ? std::numeric_limits<double>::max()
                             : double(std::numeric_limits<float>::max());
}
double smallest_normal(DType dtype) {
  return dtype == DType::f64 ? std::numeric_limits<double>::min()
                             : double(std::numeric_limits<float>::min());
}

/// log2(e) is folded into the scale, and a denormal one would be flushed to 0.
Status check_scale(const Problem& p) {
  if (!(std::abs(p.scale) <= largest(p.compute) / 2)) {
    return invalid("scale: " + text(p.scale) + " is beyond half of the largest " +
                   dtype_name(p.compute) + ", " + text(largest(p.compute)));
  }
  if (p.scale != 0 && std::abs(p.scale) < smallest_normal(p.compute)) {
    return invalid("scale: " + text(p.scale) + " is not 0 but below the smallest normal " +
                   dtype_name(p.compute) + ", " + text(smallest_normal(p.compute)));
  }
  return {};
}

/// Scores are multiplied by 1 / softcap, which has to be a normal number too.
Status check_softcap(const Problem& p) {
  if (!(p.softcap >= 0)) {
    return invalid("softcap: " + text(p.softcap) + " is not 0 (off) or above");
  }
  const double least = smallest_normal(p.compute);
  if (p.softcap == 0 || (p.softcap >= least && p.softcap <= 1 / least)) return {};
  return invalid("softcap: " + text(p.softcap) + " is not 0 (off) nor in [" + text(least) + ", " +
                 text(1 / least) + "], where " + dtype_name(p.compute) + " has it and its inverse");
}

Status check_choices(const Options& options) {
  const std::tuple<const char*, int, int> choices[] = {
      {"causal", int(options.causal), int(Causal::bottom_right)},
      {"path", int(options.path), int(Path::decode)},
      {"precision", int(options.precision), int(Precision::high)},
      {"weights_stage", int(options.weights_stage), int(Stage::biased)}};
  for (const auto& [name, value, last] : choices) {
    if (value > last) {
      return invalid(std::string(name) + ": " + to_string(value) + " is not in 0 to " +
                     to_string(last));
    }
  }
  if (options.threads < 0) {
    return invalid("threads: " + to_string(options.threads) + " is below 0 (all)");
  }
  for (const std::int64_t side : {options.window.left, options.window.right}) {
    if (side < -1) return invalid("window: " + to_string(side) + " is below -1 (unlimited)");
  }
  return {};
}

/// Tiles multiply bf16 and round weights to it.
Status check_tiles(const Problem& p) {
  if (p.path != Path::tiles) return {};
  if (p.dtype != DType::bf16) {
    return unsupported(std::string("path: tiles take bf16, and q is ") + dtype_name(p.dtype));
  }
  if (p.precision == Precision::high) {
    return invalid("path: tiles round weights to bf16, and precision high keeps them f32");
  }
  return {};
}

Status check_lengths(const char* name, std::span<const std::int64_t> lengths, std::int64_t most,
                     const Problem& p) {
  if (lengths.empty()) return {};
  if (p.packed()) {
    return invalid(std::string(name) + ": " + to_string(lengths.size()) +
                   " numbers beside packed sequences, which have their own lengths");
  }
  if (std::int64_t(lengths.size()) != p.batch) {
    return invalid(std::string(name) + ": " + to_string(lengths.size()) +
                   " numbers for a batch of " + to_string(p.batch));
  }
  for (const std::int64_t length : lengths) {
    if (length < 0 || length > most) {
      return invalid(std::string(name) + ": " + to_string(length) + " is not in [0, " +
                     to_string(most) + "]");
    }
  }
  return {};
}

Status check_lists(const Options& options, const Problem& p) {
  const auto offsets = std::int64_t(options.q_offset.size());
  if (offsets > 1 && offsets != p.batch) {
    return invalid("q_offset: " + to_string(offsets) + " numbers for a batch of " +
                   to_string(p.batch));
  }
  for (const std::int64_t row : options.rows) {
    if (row < 0 || row >= p.sq) {
      return invalid("rows: row " + to_string(row) + " is not in [0, " + to_string(p.sq) + ")");
    }
  }
  if (Status status = check_lengths("q_len", options.q_len, p.sq, p); !status.ok()) return status;
  return check_lengths("kv_len", options.kv_len, p.skv, p);
}

/// A tensor added to scores or logits: f32, f64 or the type of q.
Status check_addend(const char* name, DType dtype, const Problem& p) {
  if (dtype == DType::f32 || dtype == DType::f64 || dtype == p.dtype) return {};
  return invalid(std::string(name) + ": dtype " + dtype_name(dtype) +
                 " is neither f32, f64 nor that of q, " + dtype_name(p.dtype));
}

Status take_tensors(const Options& options, Problem& p) {
  p.mask = options.mask;
  p.bias = options.bias;
  p.alibi_slopes = options.alibi_slopes;
  p.sinks = options.sinks;
  if (p.mask.data && p.mask.dtype != DType::boolean) {
    return invalid(std::string("mask: dtype ") + dtype_name(p.mask.dtype) + " is not bool");
  }
  const Shape scores{p.batch, p.heads, p.sq, p.skv};
  const std::tuple<const char*, ConstTensor*, Shape> tensors[] = {
      {"mask", &p.mask, scores},
      {"bias", &p.bias, scores},
      {"alibi_slopes", &p.alibi_slopes, {p.batch, p.heads, 1, 1}},
      {"sinks", &p.sinks, {1, p.heads, 1, 1}}};
  for (const auto& [name, tensor, shape] : tensors) {
    if (!tensor->data) continue;
    if (tensor != &p.mask) {
      if (Status status = check_addend(name, tensor->dtype, p); !status.ok()) return status;
    }
    if (Status status = broadcast(name, shape, *tensor); !status.ok()) return status;
  }
  return {};
}

}  // namespace

Status take_options(const Options& options, Problem& p) {
  p.scale = options.scale.value_or(1 / std::sqrt(double(p.d)));
  p.softcap = options.softcap;
  p.causal = options.causal;
  p.q_offset = options.q_offset;
  p.window = options.window;
  p.q_len = options.q_len;
  p.kv_len = options.kv_len;
  p.rows = options.rows;
  p.weights_stage = options.weights_stage;
  p.precision = options.precision;
  p.path = options.path;
  p.threads = options.threads;
  p.scratch = options.scratch;
  if (Status status = check_scale(p); !status.ok()) return status;
  if (Status status = check_choices(options); !status.ok()) return status;
  if (Status status = check_tiles(p); !status.ok()) return status;
  if (Status status = check_softcap(p); !status.ok()) return status;
  if (Status status = check_lists(options, p); !status.ok()) return status;
  return take_tensors(options, p);
}

}  // namespace regard::problem
