#include "problem/decode_call.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "base/status_text.h"
#include "problem/overlap.h"
#include "problem/visible.h"

namespace regard::problem {
namespace {

using base::invalid;
using base::unsupported;
using std::to_string;

// Bits of a tree are kept in a word.
constexpr std::int64_t kMostTreeRows = 64;
// As in problem/tensors.cpp: offsets stay far inside 64 bits.
constexpr std::int64_t kFarthest = std::numeric_limits<std::int64_t>::max() / 16;
constexpr std::int64_t kTileTokens = 16;

/// Distances of an array of rows stay in the address space.
Status check_reach(const std::string& name, const KvView& cache, const std::int64_t (&steps)[3]) {
  const std::int64_t counts[] = {cache.pages, cache.kv_heads, cache.page_tokens};
  std::int64_t reach = 0;
  for (int axis = 0; axis < 3; ++axis) {
    std::int64_t step = 0;
    const bool overflow =
        __builtin_mul_overflow(std::max<std::int64_t>(counts[axis] - 1, 0), steps[axis], &step);
    if (overflow || step > kFarthest || step < -kFarthest ||
        (reach += std::abs(step)) > kFarthest) {
      return invalid(name + ": a distance of " + to_string(steps[axis]) + " bytes times " +
                     to_string(counts[axis]) + " leaves the address space");
    }
  }
  return {};
}

Status check_rows(const std::string& name, const KvView& cache, const KvRows& rows) {
  if (rows.type > KvType::q4_0) {
    return invalid(name + ".type: " + to_string(int(rows.type)) + " is not in 0 to " +
                   to_string(int(KvType::q4_0)));
  }
  if (rows.head_size < 1 || rows.head_size > std::numeric_limits<std::int32_t>::max()) {
    return invalid(name + ".head_size: " + to_string(rows.head_size) + " is not in [1, " +
                   to_string(std::numeric_limits<std::int32_t>::max()) + "]");
  }
  if (rows.head_size % kv_block(rows.type) != 0) {
    return invalid(name + ".head_size: " + to_string(rows.head_size) +
                   " is no multiple of the block of " + kv_type_name(rows.type) + ", " +
                   to_string(kv_block(rows.type)));
  }
  if (Status status =
          check_reach(name, cache, {rows.page_bytes, rows.head_bytes, rows.token_bytes});
      !status.ok()) {
    return status;
  }
  if (kv_scale_bytes(rows.type, rows.head_size) == 0) return {};
  if (!rows.scales && cache.pages > 0) {
    return invalid(name + ".scales: null, but " + kv_type_name(rows.type) +
                   " keeps its scales there");
  }
  return check_reach(name + ".scales", cache,
                     {rows.scale_page_bytes, rows.scale_head_bytes, rows.scale_token_bytes});
}

std::int64_t held_from(const KvView& cache, std::size_t n) {
  return cache.held_from.empty() ? 0 : cache.held_from[n];
}

/// Elements wider than a byte lie on multiples of their size. Distances that no row is away count
/// as 0.
Status check_alignment(const char* name, const KvView& cache, const KvRows& rows) {
  const std::int64_t bytes = rows.type == KvType::f32 ? 4 : rows.type <= KvType::bf16 ? 2 : 1;
  const std::int64_t places[] = {std::int64_t(reinterpret_cast<std::uintptr_t>(rows.data)),
                                 cache.pages > 1 ? rows.page_bytes : 0,
                                 cache.kv_heads > 1 ? rows.head_bytes : 0, rows.token_bytes};
  for (const std::int64_t place : places) {
    if (place % bytes == 0) continue;
    return invalid(std::string(name) + ": its address or a distance, " + to_string(place) +
                   ", is no multiple of an element of " + kv_type_name(rows.type) + ", " +
                   to_string(bytes) + " bytes");
  }
  return {};
}

/// The entries of one sequence's table that may be read.
Status check_table(const KvView& cache, std::size_t n) {
  const std::int64_t length = cache.lengths[n];
  for (std::int64_t token = 0; token < length; token += cache.page_tokens) {
    const std::int64_t end = std::min(length, token + cache.page_tokens);
    if (token >= cache.keep_first && end <= held_from(cache, n)) continue;
    if (!cache.page_tables[n]) {
      return invalid("page_tables: that of sequence " + to_string(n) + " is null, but it has " +
                     to_string(length) + " tokens");
    }
    const std::int32_t page = cache.page_tables[n][token / cache.page_tokens];
    if (page < 0 || page >= cache.pages) {
      return invalid("page_tables: page " + to_string(page) + " of sequence " + to_string(n) +
                     " is not in [0, " + to_string(cache.pages) + ")");
    }
  }
  return {};
}

Status check_cache(const KvView& cache) {
  if (cache.kv_heads < 0 || cache.pages < 0) {
    return invalid("cache: " + to_string(std::min(cache.kv_heads, cache.pages)) +
                   " KV heads or pages are below 0");
  }
  if (cache.page_tokens < kTileTokens || cache.page_tokens % kTileTokens != 0) {
    return invalid("page_tokens: " + to_string(cache.page_tokens) + " is no multiple of " +
                   to_string(kTileTokens));
  }
  const std::size_t sequences = cache.lengths.size();
  if (cache.page_tables.size() != sequences) {
    return invalid("page_tables: " + to_string(cache.page_tables.size()) + " tables differ from " +
                   to_string(sequences) + " lengths");
  }
  if (!cache.held_from.empty() && cache.held_from.size() != sequences) {
    return invalid("held_from: " + to_string(cache.held_from.size()) + " numbers differ from " +
                   to_string(sequences) + " lengths");
  }
  if (cache.keep_first < 0) {
    return invalid("keep_first: " + to_string(cache.keep_first) + " is below 0");
  }
  if (Status status = check_rows("k", cache, cache.k); !status.ok()) return status;
  if (Status status = check_rows("v", cache, cache.v); !status.ok()) return status;
  for (std::size_t n = 0; n < sequences; ++n) {
    const std::int64_t length = cache.lengths[n];
    if (length < 0 || length > std::numeric_limits<std::int32_t>::max()) {
      return invalid("lengths: " + to_string(length) + " is not in [0, " +
                     to_string(std::numeric_limits<std::int32_t>::max()) + "]");
    }
    if (held_from(cache, n) < 0) {
      return invalid("held_from: " + to_string(held_from(cache, n)) + " is below 0");
    }
    if (Status status = check_table(cache, n); !status.ok()) return status;
  }
  return {};
}

/// One sequence of rows for each of the cache, in the words of a decode call.
Status check_starts(const ConstTensor& q, const KvView& cache, const DecodeRows& rows) {
  const std::size_t sequences = cache.lengths.size();
  if (rows.starts.empty()) {
    if (q.shape[0] == std::int64_t(sequences)) return {};
    return invalid("q: batch " + to_string(q.shape[0]) + " differs from the cache's " +
                   to_string(sequences) + " sequences");
  }
  if (q.shape[0] != 1) {
    return invalid("q: batch " + to_string(q.shape[0]) + " of packed sequences differs from 1");
  }
  if (rows.starts.size() != sequences + 1) {
    return invalid("starts: " + to_string(rows.starts.size()) +
                   " numbers differ from 1 more than " + to_string(sequences) + " sequences");
  }
  if (rows.starts.front() != 0) {
    return invalid("starts: the first is " + to_string(rows.starts.front()) + ", it must be 0");
  }
  for (std::size_t n = 1; n <= sequences; ++n) {
    if (rows.starts[n] >= rows.starts[n - 1]) continue;
    return invalid("starts: " + to_string(rows.starts[n]) + " is below the one before it, " +
                   to_string(rows.starts[n - 1]));
  }
  if (rows.starts.back() == q.shape[2]) return {};
  return invalid("starts: the last is " + to_string(rows.starts.back()) + ", but q has " +
                 to_string(q.shape[2]) + " rows");
}

/// A view of bytes, so that outputs are known not to overlap the cache.
ConstTensor bytes_of(const KvView& cache, const KvRows& rows) {
  return {rows.data,
          DType::boolean,
          {cache.pages, cache.kv_heads, cache.page_tokens, kv_row_bytes(rows.type, rows.head_size)},
          {rows.page_bytes, rows.head_bytes, rows.token_bytes, 1}};
}

Status check_outputs_served(const Outputs& outputs) {
  const std::pair<const char*, const Tensor*> others[] = {{"weights", &outputs.weights},
                                                          {"entropy", &outputs.entropy},
                                                          {"top_weights", &outputs.top_weights},
                                                          {"top_keys", &outputs.top_keys},
                                                          {"key_mass", &outputs.key_mass}};
  for (const auto& [name, tensor] : others) {
    if (tensor->data) return unsupported(std::string(name) + ": decode serves out and lse alone");
  }
  return {};
}

Status check_tree(const DecodeCall& call) {
  const std::span<const std::int64_t> parents = call.rows.parents;
  if (parents.empty()) return {};
  const Problem& p = call.problem;
  const std::int64_t rows = first_row(p, p.batch);
  if (std::int64_t(parents.size()) != rows) {
    return invalid("parents: " + to_string(parents.size()) + " numbers differ from " +
                   to_string(rows) + " rows");
  }
  for (std::int64_t n = 0; n < p.batch; ++n) {
    const std::int64_t first = first_row(p, n);
    const std::int64_t own = row_count(p, n);
    if (own > std::min(kMostTreeRows, key_count(p, n))) {
      return invalid("parents: " + to_string(own) + " rows of sequence " + to_string(n) +
                     " are more than a tree has, " +
                     to_string(std::min(kMostTreeRows, key_count(p, n))));
    }
    for (std::int64_t i = 0; i < own; ++i) {
      const std::int64_t parent = parents[std::size_t(first + i)];
      if (parent < -1 || parent >= i) {
        return invalid("parents: that of row " + to_string(i) + ", " + to_string(parent) +
                       ", is not in [-1, " + to_string(i) + ")");
      }
    }
  }
  return {};
}

/// Keys as a `forward` of the same sequences would have them, for everything but their memory.
Status take_shapes(const ConstTensor& q, const Outputs& outputs, const Options& options,
                   DecodeCall& call) {
  const KvView& cache = call.cache;
  Options own = options;
  own.path = Path::automatic;
  Sequences sequences;
  std::int64_t batch = std::int64_t(cache.lengths.size());
  std::int64_t keys = 0;
  if (call.rows.starts.empty()) {
    own.kv_len = cache.lengths;
    for (const std::int64_t length : cache.lengths) keys = std::max(keys, length);
  } else {
    call.key_starts.push_back(0);
    for (const std::int64_t length : cache.lengths) call.key_starts.push_back(keys += length);
    sequences = {call.rows.starts, call.key_starts};
    batch = 1;
  }
  const auto keys_like = [&](const KvRows& rows) {
    const Shape shape{batch, cache.kv_heads, keys, rows.head_size};
    return ConstTensor{nullptr, q.dtype, shape, dense_strides(shape)};
  };
  return make_problem(q, keys_like(cache.k), keys_like(cache.v), outputs, own, call.problem,
                      sequences);
}

}  // namespace

Status make_decode_call(const ConstTensor& q, const KvView& cache, const DecodeRows& rows,
                        const Outputs& outputs, const Options& options, DecodeCall& call) {
  if (Status status = check_cache(cache); !status.ok()) return status;
  if (!options.kv_len.empty()) {
    return invalid("kv_len: " + to_string(options.kv_len.size()) +
                   " numbers beside a cache, which has its own lengths");
  }
  if (q.dtype == DType::f64) {
    return unsupported("q: dtype f64, and caches are computed in f32");
  }
  if (options.path != Path::automatic && options.path != Path::decode) {
    return unsupported(std::string("path: ") + path_name(options.path) +
                       " reads no cache, decode does");
  }
  if (Status status = check_outputs_served(outputs); !status.ok()) return status;
  if (Status status = check_starts(q, cache, rows); !status.ok()) return status;
  call.cache = cache;
  call.rows = rows;
  if (Status status = take_shapes(q, outputs, options, call); !status.ok()) return status;
  if (Status status = check_tree(call); !status.ok()) return status;
  call.problem.k = bytes_of(cache, cache.k);
  call.problem.v = bytes_of(cache, cache.v);
  return {};
}

Status check_decode_memory(const DecodeCall& call, std::int64_t scratch_bytes) {
  if (Status status = check_memory(call.problem, scratch_bytes); !status.ok()) return status;
  const Outputs& o = call.problem.outputs;
  for (const auto& [name, rows] : {std::pair{"k", &call.cache.k}, std::pair{"v", &call.cache.v}}) {
    if (Status status = check_alignment(name, call.cache, *rows); !status.ok()) return status;
    const std::int64_t bytes = kv_scale_bytes(rows->type, rows->head_size);
    if (bytes == 0) continue;
    const ConstTensor scales{
        rows->scales,
        DType::boolean,
        {call.cache.pages, call.cache.kv_heads, call.cache.page_tokens, bytes},
        {rows->scale_page_bytes, rows->scale_head_bytes, rows->scale_token_bytes, 1}};
    for (const auto& [output, tensor] : {std::pair{"out", &o.out}, std::pair{"lse", &o.lse}}) {
      if (tensor->data && overlap(*tensor, scales)) {
        return invalid(std::string(output) + ": its memory overlaps that of " + name + ".scales");
      }
    }
  }
  return {};
}

}  // namespace regard::problem
