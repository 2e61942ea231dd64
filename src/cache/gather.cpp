// Tokens of a cache as tensors, dequantised.
#include <algorithm>
#include <string>
#include <vector>

#include "base/read.h"
#include "base/status_text.h"
#include "cache/rows.h"
#include "cache/state.h"
#include "problem/overlap.h"
#include "problem/tensors.h"

namespace regard::cache {
namespace {

using base::invalid;
using std::to_string;

std::string interval(std::int64_t begin, std::int64_t end) {
  return std::string("[") + to_string(begin) + ", " + to_string(end) + ")";
}

Status check_output(const char* name, const Tensor& tensor, const Shape& shape) {
  if (!tensor.data) return {};
  Status status = problem::check_result(name, tensor, shape);
  if (status.ok() && problem::overlaps_itself(tensor)) {
    status = invalid(std::string(name) + ": strides " + base::text(tensor.strides) +
                     " make shape " + base::text(tensor.shape) + " overlap itself");
  }
  return status;
}

Status check_outputs(const KvCacheOptions& options, std::int64_t tokens, const Tensor& k,
                     const Tensor& v) {
  Status status = check_output("k", k, {1, options.kv_heads, tokens, options.k_head_size});
  if (status.ok()) {
    status = check_output("v", v, {1, options.kv_heads, tokens, options.v_head_size});
  }
  if (status.ok() && k.data && v.data && problem::overlap(k, v)) {
    status = invalid("k: its memory overlaps that of v");
  }
  return status;
}

Status check_tokens(const KvCacheState& state, const Sequence& sequence, std::int64_t begin,
                    std::int64_t tokens) {
  if (begin < 0 || begin > sequence.length || tokens > sequence.length - begin) {
    return invalid("begin: " + to_string(tokens) + " tokens from " + to_string(begin) +
                   " on are not in " + interval(0, sequence.length));
  }
  const std::int64_t keep_first = state.options.keep_first;
  const std::int64_t held = held_from(state.options, sequence.length);
  const bool all_held = held <= keep_first || begin >= held || begin + tokens <= keep_first;
  if (all_held || tokens == 0) return {};
  return invalid("begin: tokens " + interval(begin, begin + tokens) + " meet those dropped, " +
                 interval(keep_first, held));
}

template <class T>
T narrow(float x) noexcept {
  if constexpr (std::is_same_v<T, F16>) {
    return to_f16(x);
  } else if constexpr (std::is_same_v<T, BF16>) {
    return to_bf16(x);
  } else {
    return T(x);
  }
}

void read_rows(const KvCacheState& state, const Sequence& sequence, const KvRows& rows,
               std::int64_t begin, const Tensor& to, float* row) noexcept {
  const std::int64_t page_tokens = state.options.page_tokens;
  base::with_float_type(to.dtype, [&]<class T>(const T*) {
    for (std::int64_t n = 0; n < to.shape[2]; ++n) {
      const std::int64_t token = begin + n;
      const std::int32_t page = sequence.pages[std::size_t(token / page_tokens)];
      for (std::int64_t h = 0; h < state.options.kv_heads; ++h) {
        const RowAddress from = row_address(rows, page, h, token % page_tokens);
        read_row(rows.type, from.row, from.scales, rows.head_size, row);
        T* element = static_cast<T*>(to.data) + h * to.strides[1] + n * to.strides[2];
        for (std::int64_t d = 0; d < rows.head_size; ++d) {
          element[d * to.strides[3]] = narrow<T>(row[d]);
        }
      }
    }
  });
}

}  // namespace

Status gather(const KvCacheState& state, std::int64_t number, std::int64_t begin, const Tensor& k,
              const Tensor& v) {
  const Sequence* sequence = nullptr;
  Status status = find(state, number, sequence);
  if (!status.ok()) return status;
  const std::int64_t tokens = k.data ? k.shape[2] : v.data ? v.shape[2] : 0;
  status = check_outputs(state.options, tokens, k, v);
  if (status.ok()) status = check_tokens(state, *sequence, begin, tokens);
  if (!status.ok()) return status;
  std::vector<float> row(
      std::size_t(std::max(state.options.k_head_size, state.options.v_head_size)));
  if (k.data) read_rows(state, *sequence, state.pool.k(), begin, k, row.data());
  if (v.data) read_rows(state, *sequence, state.pool.v(), begin, v, row.data());
  return {};
}

}  // namespace regard::cache
