#include "problem/merge_call.h"

#include <string>

#include "base/status_text.h"
#include "problem/overlap.h"
#include "problem/tensors.h"

namespace regard::problem {
namespace {

using base::invalid;
using std::to_string;

Status check_lse(const std::string& name, const ConstTensor& lse, const Shape& shape) {
  if (Status status = check_result(name.c_str(), lse, shape); !status.ok()) return status;
  if (lse.dtype == DType::f32 || lse.dtype == DType::f64) return {};
  return invalid(name + ": dtype " + dtype_name(lse.dtype) + " is neither f32 nor f64");
}

bool same_view(const ConstTensor& a, const ConstTensor& b) {
  if (a.data != b.data || a.dtype != b.dtype || a.shape != b.shape) return false;
  for (std::size_t axis = 0; axis < 4; ++axis) {
    if (a.shape[axis] > 1 && a.strides[axis] != b.strides[axis]) return false;
  }
  return true;
}

Status shared_memory(const std::string& name, const std::string& other) {
  return invalid(name + ": its memory overlaps that of " + other);
}

/// What a merge reads: every lse, sinks, and the outs where they are wanted.
struct Inputs {
  std::span<const Part> parts;
  const ConstTensor& sinks;
  bool outs;
};

/// An output: sound by itself, and apart from everything but the view it may replace, `member` of
/// a part.
Status check_output(const std::string& name, const Tensor& output, ConstTensor Part::*member,
                    const Inputs& inputs) {
  if (overlaps_itself(output)) {
    return invalid(name + ": strides " + base::text(output.strides) + " make shape " +
                   base::text(output.shape) + " overlap itself");
  }
  if (overlap(output, inputs.sinks)) return shared_memory(name, "sinks");
  for (std::size_t n = 0; n < inputs.parts.size(); ++n) {
    const std::string part = "parts[" + to_string(n) + "].";
    for (const auto read : {&Part::out, &Part::lse}) {
      if (read == &Part::out && !inputs.outs) continue;
      const ConstTensor& input = inputs.parts[n].*read;
      if (read == member && same_view(output, input)) continue;
      if (overlap(output, input)) {
        return shared_memory(name, part + (read == &Part::out ? "out" : "lse"));
      }
    }
  }
  return {};
}

}  // namespace

Status check_merge(std::span<const Part> parts, const ConstTensor& sinks, const Tensor& out,
                   const Tensor& lse) {
  if (parts.empty()) return invalid("parts: 0 of them are given, at least 1 is needed");
  Shape rows = parts.front().lse.shape;
  rows[3] = 1;
  Shape columns = rows;
  columns[3] = out.shape[3];
  const Inputs inputs{parts, sinks, out.data != nullptr};
  for (std::size_t n = 0; n < parts.size(); ++n) {
    const std::string part = "parts[" + to_string(n) + "].";
    if (Status status = check_lse(part + "lse", parts[n].lse, rows); !status.ok()) return status;
    if (!inputs.outs) continue;
    Status status = check_result((part + "out").c_str(), parts[n].out, columns);
    if (!status.ok()) return status;
  }
  if (sinks.data) {
    Status status = check_result("sinks", sinks, {1, rows[1], 1, 1});
    if (!status.ok()) return status;
  }
  if (inputs.outs) {
    Status status = check_result("out", out, columns);
    if (status.ok()) status = check_output("out", out, &Part::out, inputs);
    if (!status.ok()) return status;
  }
  if (!lse.data) return {};
  Status status = check_lse("lse", lse, rows);
  if (status.ok()) status = check_output("lse", lse, &Part::lse, inputs);
  if (status.ok() && overlap(lse, out)) status = shared_memory("lse", "out");
  return status;
}

}  // namespace regard::problem
