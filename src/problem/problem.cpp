#include "problem/problem.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>

#include "base/status_text.h"
#include "problem/overlap.h"

namespace regard::problem {
namespace {

using base::invalid;
using base::text;
using base::unsupported;
using std::to_string;

// Row and key numbers fit 32 bits in the kernels.
constexpr std::int64_t kLongestAxis = std::numeric_limits<std::int32_t>::max();
// Counts of rows, items and bytes stay far inside 64 bits.
constexpr std::int64_t kMostElements = std::int64_t{1} << 56;

Status check_axes(const char* name, const ConstTensor& tensor) {
  for (std::size_t axis = 0; axis < 4; ++axis) {
    const std::int64_t size = tensor.shape[axis];
    if (size < 0 || size > kLongestAxis) {
      return invalid(std::string(name) + ": axis " + to_string(axis) + " has size " +
                     to_string(size) + ", which is not in [0, " + to_string(kLongestAxis) + "]");
    }
  }
  std::int64_t elements = 1;
  for (const std::int64_t size : tensor.shape) {
    if (__builtin_mul_overflow(elements, std::max<std::int64_t>(size, 1), &elements) ||
        elements > kMostElements) {
      return invalid(std::string(name) + ": shape " + text(tensor.shape) + " has more than " +
                     to_string(kMostElements) + " elements");
    }
  }
  constexpr std::int64_t farthest = std::numeric_limits<std::int64_t>::max() / 16;
  std::int64_t reach = 0;
  for (std::size_t axis = 0; axis < 4; ++axis) {
    std::int64_t step = 0;
    const std::int64_t last = std::max<std::int64_t>(tensor.shape[axis] - 1, 0);
    const bool overflow = __builtin_mul_overflow(last, tensor.strides[axis], &step);
    if (overflow || step < -farthest || step > farthest || (reach += std::abs(step)) > farthest) {
      return invalid(std::string(name) + ": stride " + to_string(tensor.strides[axis]) +
                     " of axis " + to_string(axis) + " times its size " +
                     to_string(tensor.shape[axis]) + " leaves the address space");
    }
  }
  return {};
}

Status check_served(const char* name, DType dtype) {
  if (dtype == DType::f32 || dtype == DType::f64) return {};
  return unsupported(std::string(name) + ": dtype " + dtype_name(dtype) +
                     " is not served by this version, which has f32 and f64");
}

Status check_shape(const char* name, const Shape& shape, const Shape& wanted) {
  if (shape == wanted) return {};
  return invalid(std::string(name) + ": shape " + text(shape) + " differs from " + text(wanted));
}

Status check_input_shapes(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v) {
  const std::pair<const char*, const ConstTensor*> inputs[] = {{"q", &q}, {"k", &k}, {"v", &v}};
  for (const auto& [name, tensor] : inputs) {
    if (Status status = check_axes(name, *tensor); !status.ok()) return status;
    if (tensor->shape[3] < 1) {
      return invalid(std::string(name) + ": the head size is 0, it must be at least 1");
    }
    if (tensor->shape[0] != q.shape[0]) {
      return invalid(std::string(name) + ": batch " + to_string(tensor->shape[0]) +
                     " differs from q's " + to_string(q.shape[0]));
    }
    if (tensor->dtype != q.dtype) {
      return invalid(std::string(name) + ": dtype " + dtype_name(tensor->dtype) +
                     " differs from q's " + dtype_name(q.dtype));
    }
  }
  if (k.shape[3] != q.shape[3]) {
    return invalid("k: head size " + to_string(k.shape[3]) + " differs from q's " +
                   to_string(q.shape[3]));
  }
  if (v.shape[1] != k.shape[1]) {
    return invalid("v: " + to_string(v.shape[1]) + " heads differ from k's " +
                   to_string(k.shape[1]));
  }
  if (v.shape[2] != k.shape[2]) {
    return invalid("v: " + to_string(v.shape[2]) + " keys differ from k's " +
                   to_string(k.shape[2]));
  }
  const std::int64_t heads = q.shape[1];
  const std::int64_t kv_heads = k.shape[1];
  if (kv_heads == 0 ? heads != 0 : heads % kv_heads != 0) {
    return invalid("k: " + to_string(kv_heads) + " heads do not divide q's " + to_string(heads));
  }
  return check_served("q", q.dtype);
}

Status check_output(const char* name, const Tensor& tensor, const Shape& shape, DType dtype) {
  if (!tensor.data) return {};
  if (Status status = check_shape(name, tensor.shape, shape); !status.ok()) return status;
  if (tensor.dtype != dtype) {
    return invalid(std::string(name) + ": dtype " + dtype_name(tensor.dtype) +
                   " differs from q's " + dtype_name(dtype));
  }
  return check_axes(name, tensor);
}

Status check_outputs(const Problem& p) {
  const std::int64_t rows = p.rows.empty() ? p.sq : std::int64_t(p.rows.size());
  const Outputs& outputs = p.outputs;
  Status status = check_output("out", outputs.out, {p.batch, p.heads, p.sq, p.dv}, p.dtype);
  if (!status.ok()) return status;
  status = check_output("lse", outputs.lse, {p.batch, p.heads, p.sq, 1}, p.dtype);
  if (!status.ok()) return status;
  return check_output("weights", outputs.weights, {p.batch, p.heads, rows, p.skv}, p.dtype);
}

/// Options that belong to the conventions but are not served yet.
Status check_unserved(const Options& options) {
  const auto unserved = [](const char* name) {
    return unsupported(std::string(name) + ": this version does not serve it yet");
  };
  for (const std::int64_t side : {options.window.left, options.window.right}) {
    if (side < -1) return invalid("window: " + to_string(side) + " is below -1 (unlimited)");
  }
  if (options.window.left != -1 || options.window.right != -1) return unserved("window");
  if (!(options.softcap >= 0)) {
    return invalid("softcap: " + text(options.softcap) + " is not 0 (off) or above");
  }
  if (options.softcap != 0) return unserved("softcap");
  if (options.mask.data) return unserved("mask");
  if (options.bias.data) return unserved("bias");
  if (options.alibi_slopes.data) return unserved("alibi_slopes");
  if (options.sinks.data) return unserved("sinks");
  if (!options.q_len.empty()) return unserved("q_len");
  if (!options.kv_len.empty()) return unserved("kv_len");
  if (options.path == Path::tiles) return unserved("path: tiles");
  if (options.path == Path::decode) return unserved("path: decode");
  return {};
}

/// log2(e) is folded into the scale, and a denormal one would be flushed to 0.
Status check_scale(const Problem& p) {
  const double largest = p.dtype == DType::f32 ? std::numeric_limits<float>::max()
                                               : std::numeric_limits<double>::max();
  if (!(std::abs(p.scale) <= largest / 2)) {
    return invalid("scale: " + text(p.scale) + " is beyond half of the largest " +
                   dtype_name(p.dtype) + ", " + text(largest));
  }
  const double smallest = p.dtype == DType::f32 ? std::numeric_limits<float>::min()
                                                : std::numeric_limits<double>::min();
  if (p.scale != 0 && std::abs(p.scale) < smallest) {
    return invalid("scale: " + text(p.scale) + " is not 0 but below the smallest normal " +
                   dtype_name(p.dtype) + ", " + text(smallest));
  }
  return {};
}

Status check_options(const Options& options, const Problem& p) {
  if (Status status = check_scale(p); !status.ok()) return status;
  const std::tuple<const char*, int, int> choices[] = {
      {"causal", int(options.causal), int(Causal::bottom_right)},
      {"path", int(options.path), int(Path::decode)},
      {"precision", int(options.precision), int(Precision::high)}};
  for (const auto& [name, value, last] : choices) {
    if (value > last) {
      return invalid(std::string(name) + ": " + to_string(value) + " is not in 0 to " +
                     to_string(last));
    }
  }
  if (options.threads < 0) {
    return invalid("threads: " + to_string(options.threads) + " is below 0 (all)");
  }
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
  return check_unserved(options);
}

/// Pointers of non-empty tensors: given, and aligned to their element.
Status check_pointer(const char* name, const ConstTensor& tensor) {
  const bool empty = std::ranges::any_of(tensor.shape, [](auto n) { return n == 0; });
  if (empty) return {};
  if (!tensor.data) {
    return invalid(std::string(name) + ": data is null but its shape is " + text(tensor.shape));
  }
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.data);
  const auto bytes = std::uintptr_t(element_bytes(tensor.dtype));
  if (bytes != 0 && address % bytes != 0) {
    return invalid(std::string(name) + ": its address is " + to_string(address % bytes) +
                   " bytes past a multiple of its element, " + to_string(bytes) + " bytes");
  }
  return {};
}

}  // namespace

Status make_problem(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                    const Outputs& outputs, const Options& options, Problem& problem) {
  if (Status status = check_input_shapes(q, k, v); !status.ok()) return status;
  Problem p;
  p.q = q;
  p.k = k;
  p.v = v;
  p.outputs = outputs;
  p.dtype = q.dtype;
  p.batch = q.shape[0];
  p.heads = q.shape[1];
  p.kv_heads = k.shape[1];
  p.sq = q.shape[2];
  p.skv = k.shape[2];
  p.d = q.shape[3];
  p.dv = v.shape[3];
  p.group = p.kv_heads == 0 ? 1 : p.heads / p.kv_heads;
  p.scale = options.scale.value_or(1 / std::sqrt(double(p.d)));
  p.causal = options.causal;
  p.q_offset = options.q_offset;
  p.rows = options.rows;
  p.path = options.path;
  p.threads = options.threads;
  if (Status status = check_options(options, p); !status.ok()) return status;
  if (Status status = check_outputs(p); !status.ok()) return status;
  problem = p;
  return {};
}

Status check_memory(const Problem& p) {
  const std::pair<const char*, ConstTensor> inputs[] = {{"q", p.q}, {"k", p.k}, {"v", p.v}};
  for (const auto& [name, tensor] : inputs) {
    if (Status status = check_pointer(name, tensor); !status.ok()) return status;
  }
  const std::pair<const char*, ConstTensor> outputs[] = {
      {"out", p.outputs.out}, {"lse", p.outputs.lse}, {"weights", p.outputs.weights}};
  for (std::size_t at = 0; at < std::size(outputs); ++at) {
    const auto& [name, tensor] = outputs[at];
    if (!tensor.data) continue;
    if (Status status = check_pointer(name, tensor); !status.ok()) return status;
    if (overlaps_itself(tensor)) {
      return invalid(std::string(name) + ": strides " + text(tensor.strides) + " make shape " +
                     text(tensor.shape) + " overlap itself");
    }
    const auto clash = [&view = outputs[at].second](const auto& other) {
      return overlap(view, other.second);
    };
    const auto* input = std::ranges::find_if(inputs, clash);
    const auto* output = std::find_if(outputs, outputs + at, clash);
    if (input != std::end(inputs)) {
      return invalid(std::string(name) + ": its memory overlaps that of " + input->first);
    }
    if (output != outputs + at) {
      return invalid(std::string(name) + ": its memory overlaps that of " + output->first);
    }
  }
  return {};
}

Status check_result(const char* name, const ConstTensor& tensor, const Shape& shape) {
  Status status = check_shape(name, tensor.shape, shape);
  if (status.ok()) status = check_served(name, tensor.dtype);
  if (status.ok()) status = check_axes(name, tensor);
  if (status.ok()) status = check_pointer(name, tensor);
  return status;
}

KeyRange visible_keys(const Problem& p, std::int64_t b, std::int64_t i) noexcept {
  if (p.causal == Causal::none) return {0, p.skv};
  std::int64_t offset = p.causal == Causal::bottom_right ? p.skv - p.sq : 0;
  if (!p.q_offset.empty()) {
    // Beyond 2^32 every row sees all keys or none; the clamp keeps the sum from overflowing.
    constexpr std::int64_t far = std::int64_t{1} << 32;
    const auto given = p.q_offset[p.q_offset.size() == 1 ? 0 : std::size_t(b)];
    offset = std::clamp(given, -far, far);
  }
  return {0, std::clamp<std::int64_t>(i + offset + 1, 0, p.skv)};
}

std::int64_t distinct_ranges(const Problem& p) noexcept {
  return p.causal != Causal::none && p.q_offset.size() > 1 ? p.batch : 1;
}

}  // namespace regard::problem
