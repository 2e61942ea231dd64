// Checks what a call writes: shapes and types, then the memory of everything it touches.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/aligned_buffer.h"
#include "base/status_text.h"
#include "problem/overlap.h"
#include "problem/problem.h"

namespace regard::problem {
namespace {

using base::invalid;
using base::text;
using base::unsupported;
using std::to_string;

/// State of the top keys lives in scratch, row by row.
constexpr std::int64_t kMostTopKeys = 1024;

struct Output {
  const char* name;
  Tensor tensor;
  Shape shape;
  DType dtype;
  bool any_float = false;  ///< instead of `dtype`
};

Status check_output(const Output& output, const Problem& p) {
  const auto& [name, tensor, shape, dtype, any_float] = output;
  if (!tensor.data) return {};
  if (Status status = check_shape(name, tensor.shape, shape); !status.ok()) return status;
  if (any_float) {
    if (Status status = check_float(name, tensor.dtype); !status.ok()) return status;
  } else if (tensor.dtype != dtype) {
    return invalid(std::string(name) + ": dtype " + dtype_name(tensor.dtype) + " differs from " +
                   dtype_name(dtype) + ", which goes with q's " + dtype_name(p.dtype));
  }
  return check_axes(name, tensor);
}

Status check_top(const Outputs& outputs) {
  if (!outputs.top_weights.data && !outputs.top_keys.data) return {};
  const std::int64_t count = top_count(outputs);
  if (count >= 1 && count <= kMostTopKeys) return {};
  return invalid(std::string(outputs.top_weights.data ? "top_weights" : "top_keys") + ": " +
                 to_string(count) + " top keys are not in [1, " + to_string(kMostTopKeys) + "]");
}

struct Named {
  const char* name;
  ConstTensor tensor;
};

/// Tensors of one call, without an allocation: the smallest calls would feel it.
class NamedList {
 public:
  void add(const char* name, const ConstTensor& tensor) { named_[count_++] = {name, tensor}; }
  void add_given(const char* name, const ConstTensor& tensor) {
    if (tensor.data) add(name, tensor);
  }
  const Named* begin() const { return named_.data(); }
  const Named* end() const { return begin() + count_; }

 private:
  std::array<Named, 8> named_;
  std::size_t count_ = 0;
};

NamedList inputs_of(const Problem& p) {
  NamedList inputs;
  inputs.add("q", p.q);
  inputs.add("k", p.k);
  inputs.add("v", p.v);
  inputs.add_given("mask", p.mask);
  inputs.add_given("bias", p.bias);
  inputs.add_given("alibi_slopes", p.alibi_slopes);
  inputs.add_given("sinks", p.sinks);
  return inputs;
}

NamedList outputs_of(const Problem& p) {
  const Outputs& o = p.outputs;
  const auto bytes = std::int64_t(p.scratch.size());
  NamedList outputs;
  outputs.add_given("out", o.out);
  outputs.add_given("lse", o.lse);
  outputs.add_given("weights", o.weights);
  outputs.add_given("entropy", o.entropy);
  outputs.add_given("top_weights", o.top_weights);
  outputs.add_given("top_keys", o.top_keys);
  outputs.add_given("key_mass", o.key_mass);
  outputs.add_given("scratch", {p.scratch.data(), DType::boolean, {1, 1, 1, bytes}, {0, 0, 0, 1}});
  return outputs;
}

Status check_scratch(const Problem& p, std::int64_t scratch_bytes) {
  if (p.scratch.empty()) return {};
  constexpr std::uintptr_t kAlignment = base::AlignedBuffer::kAlignment;
  if (std::int64_t(p.scratch.size()) < scratch_bytes) {
    return invalid("scratch: " + to_string(p.scratch.size()) + " bytes are less than the " +
                   to_string(scratch_bytes) + " that this call takes");
  }
  const std::uintptr_t past = reinterpret_cast<std::uintptr_t>(p.scratch.data()) % kAlignment;
  if (past == 0) return {};
  return invalid("scratch: its address is " + to_string(past) + " bytes past a multiple of " +
                 to_string(kAlignment));
}

}  // namespace

std::int64_t top_count(const Outputs& outputs) noexcept {
  return outputs.top_weights.data ? outputs.top_weights.shape[3]
         : outputs.top_keys.data  ? outputs.top_keys.shape[3]
                                  : 0;
}

Status check_outputs(const Problem& p) {
  const Outputs& o = p.outputs;
  if (p.packed() && o.weights.data) {
    return unsupported("weights: packed sequences have none, ask for one sequence at a time");
  }
  const std::int64_t chosen = p.rows.empty() ? p.sq : std::int64_t(p.rows.size());
  const std::int64_t top = top_count(o);
  if (Status status = check_top(o); !status.ok()) return status;
  const auto [batch, heads, rows, d] = p.q.shape;
  const std::int64_t keys = p.k.shape[2];
  const Output outputs[] = {{"out", o.out, {batch, heads, rows, p.dv}, p.dtype, true},
                            {"lse", o.lse, {batch, heads, rows, 1}, p.compute},
                            {"weights", o.weights, {batch, heads, chosen, keys}, p.compute},
                            {"entropy", o.entropy, {batch, heads, rows, 1}, p.compute},
                            {"top_weights", o.top_weights, {batch, heads, rows, top}, p.compute},
                            {"top_keys", o.top_keys, {batch, heads, rows, top}, DType::i64},
                            {"key_mass", o.key_mass, {batch, heads, 1, keys}, p.compute}};
  for (const Output& output : outputs) {
    if (Status status = check_output(output, p); !status.ok()) return status;
  }
  return {};
}

Status check_memory(const Problem& p, std::int64_t scratch_bytes) {
  const NamedList inputs = inputs_of(p);
  const NamedList outputs = outputs_of(p);
  if (Status status = check_scratch(p, scratch_bytes); !status.ok()) return status;
  for (const auto& [name, tensor] : inputs) {
    if (Status status = check_pointer(name, tensor); !status.ok()) return status;
  }
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    const auto& [name, tensor] = *output;
    if (Status status = check_pointer(name, tensor); !status.ok()) return status;
    if (overlaps_itself(tensor)) {
      return invalid(std::string(name) + ": strides " + text(tensor.strides) + " make shape " +
                     text(tensor.shape) + " overlap itself");
    }
    const auto clash = [&view = output->tensor](const Named& other) {
      return overlap(view, other.tensor);
    };
    const auto input = std::ranges::find_if(inputs, clash);
    if (input != inputs.end()) {
      return invalid(std::string(name) + ": its memory overlaps that of " + input->name);
    }
    const auto earlier = std::find_if(outputs.begin(), output, clash);
    if (earlier != output) {
      return invalid(std::string(name) + ": its memory overlaps that of " + earlier->name);
    }
  }
  return {};
}

}  // namespace regard::problem
