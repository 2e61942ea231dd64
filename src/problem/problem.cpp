#include "problem/problem.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/status_text.h"

namespace regard::problem {
namespace {

using base::invalid;
using base::text;
using std::to_string;

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
  return check_float("q", q.dtype);
}

/// Starts of packed sequences: from 0, never falling, to the packed length.
Status check_starts(const char* name, std::span<const std::int64_t> starts, std::int64_t length,
                    std::int64_t& longest) {
  if (starts.empty() || starts.front() != 0) {
    return invalid(std::string("sequences.") + name + ": the first start is " +
                   (starts.empty() ? "absent" : to_string(starts.front())) + ", it must be 0");
  }
  longest = 0;
  for (std::size_t n = 1; n < starts.size(); ++n) {
    if (starts[n] < starts[n - 1]) {
      return invalid(std::string("sequences.") + name + ": start " + to_string(starts[n]) +
                     " is below the one before it, " + to_string(starts[n - 1]));
    }
    longest = std::max(longest, starts[n] - starts[n - 1]);
  }
  if (starts.back() == length) return {};
  return invalid(std::string("sequences.") + name + ": the last start is " +
                 to_string(starts.back()) + ", the packed length is " + to_string(length));
}

Status take_sequences(const Sequences& sequences, Problem& p) {
  if (p.batch != 1) {
    return invalid("q: batch " + to_string(p.batch) + " of packed sequences differs from 1");
  }
  if (sequences.q.size() != sequences.kv.size()) {
    return invalid("sequences.kv: " + to_string(sequences.kv.size()) + " starts differ from q's " +
                   to_string(sequences.q.size()));
  }
  std::int64_t rows = 0;
  std::int64_t keys = 0;
  if (Status status = check_starts("q", sequences.q, p.sq, rows); !status.ok()) return status;
  if (Status status = check_starts("kv", sequences.kv, p.skv, keys); !status.ok()) return status;
  p.sequences = sequences;
  p.batch = std::int64_t(sequences.q.size()) - 1;
  p.sq = rows;
  p.skv = keys;
  return {};
}

}  // namespace

Status require_sequences(const Sequences& sequences) {
  if (!sequences.q.empty() || !sequences.kv.empty()) return {};
  return invalid("sequences.q: 0 starts, it must have 1 more than there are sequences");
}

Status make_problem(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                    const Outputs& outputs, const Options& options, Problem& problem,
                    const Sequences& sequences) {
  if (Status status = check_input_shapes(q, k, v); !status.ok()) return status;
  Problem p;
  p.q = q;
  p.k = k;
  p.v = v;
  p.outputs = outputs;
  p.dtype = q.dtype;
  p.compute = compute_type(q.dtype);
  p.batch = q.shape[0];
  p.heads = q.shape[1];
  p.kv_heads = k.shape[1];
  p.sq = q.shape[2];
  p.skv = k.shape[2];
  p.d = q.shape[3];
  p.dv = v.shape[3];
  p.group = p.kv_heads == 0 ? 1 : p.heads / p.kv_heads;
  if (!sequences.q.empty() || !sequences.kv.empty()) {
    if (Status status = take_sequences(sequences, p); !status.ok()) return status;
  }
  if (Status status = take_options(options, p); !status.ok()) return status;
  if (Status status = check_outputs(p); !status.ok()) return status;
  problem = p;
  return {};
}

}  // namespace regard::problem
