// The same attention twice: `plain` holds a whole row of scores, `blocked` only a tile of them.
// A softmax over tiles is possible because its sums can be moved to another reference: if M is
// the largest score so far, L = sum exp(s - M) and O = sum exp(s - M) v, then a larger maximum M'
// turns both into what they would have been with M' by the factor exp(M - M').
#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <string>
#include <utility>

#include "base/status_text.h"
#include "regard/lab.h"

namespace regard::lab {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// One batch entry: q (Sq, D), k (Skv, D), v (Skv, Dv), out (Sq, Dv).
struct Entry {
  const double *q, *k, *v;
  double* out;
  std::int64_t sq, skv, d, dv;
  double scale;

  double score(std::int64_t i, std::int64_t j) const {
    double dot = 0;
    for (std::int64_t c = 0; c < d; ++c) dot += q[i * d + c] * k[j * d + c];
    return scale * dot;
  }
};

void plain(const Entry& e) {
  std::vector<double> p(std::size_t(e.skv));
  for (std::int64_t i = 0; i < e.sq; ++i) {
    double m = -kInfinity, l = 0;
    for (std::int64_t j = 0; j < e.skv; ++j) {
      p[j] = e.score(i, j);
      m = std::max(m, p[j]);
    }
    for (std::int64_t j = 0; j < e.skv; ++j) {
      p[j] = std::exp(p[j] - m);
      l += p[j];
    }
    for (std::int64_t j = 0; j < e.skv; ++j)
      for (std::int64_t c = 0; c < e.dv; ++c) e.out[i * e.dv + c] += p[j] / l * e.v[j * e.dv + c];
  }
}

/// What a query row knows after some of the key tiles.
struct RunningRow {
  double m = -kInfinity;  ///< largest score so far
  double l = 0;           ///< sum of exp(s - m)
  std::vector<double> o;  ///< sum of exp(s - m) v
};

/// Row i meets the tile of keys [begin, end).
void meet_tile(const Entry& e, std::int64_t i, std::int64_t begin, std::int64_t end,
               std::vector<double>& s, RunningRow& row) {
  double m = row.m;
  for (std::int64_t j = begin; j < end; ++j) {
    s[j - begin] = e.score(i, j);
    m = std::max(m, s[j - begin]);
  }
  const double rescale = std::exp(row.m - m);
  row.m = m;
  row.l *= rescale;
  for (double& o : row.o) o *= rescale;
  for (std::int64_t j = begin; j < end; ++j) {
    const double p = std::exp(s[j - begin] - m);
    row.l += p;
    for (std::int64_t c = 0; c < e.dv; ++c) row.o[c] += p * e.v[j * e.dv + c];
  }
}

void blocked(const Entry& e, std::int64_t block) {
  std::vector<double> s(std::size_t(std::min(block, e.skv)));
  for (std::int64_t i0 = 0; i0 < e.sq; i0 += block) {
    const std::int64_t rows_here = std::min(block, e.sq - i0);
    std::vector<RunningRow> rows(std::size_t(rows_here),
                                 {.o = std::vector<double>(std::size_t(e.dv))});
    for (std::int64_t j0 = 0; j0 < e.skv; j0 += block) {
      const std::int64_t j1 = j0 + std::min(block, e.skv - j0);
      for (std::int64_t r = 0; r < rows_here; ++r) meet_tile(e, i0 + r, j0, j1, s, rows[r]);
    }
    for (std::int64_t r = 0; r < rows_here && e.skv > 0; ++r)
      for (std::int64_t c = 0; c < e.dv; ++c) e.out[(i0 + r) * e.dv + c] = rows[r].o[c] / rows[r].l;
  }
}

Status require(const std::vector<double>& values, const char* name, const Shape& shape) {
  double count = 1;  // exact up to 2^53, and no product of lengths overflows it
  for (const std::int64_t length : shape) count *= double(length);
  if (double(values.size()) == count) return {};
  return base::invalid(std::string(name) + ": " + std::to_string(values.size()) +
                       " values for shape " + base::text(shape));
}

Status require_input(const BlockedInput& in) {
  if (in.d < 1 || in.dv < 1) {
    return base::invalid("d, dv: " + std::to_string(in.d) + " and " + std::to_string(in.dv) +
                         ", both must be at least 1");
  }
  if (std::min({in.batch, in.sq, in.skv}) < 0) {
    return base::invalid("batch, sq, skv: " + std::to_string(in.batch) + ", " +
                         std::to_string(in.sq) + " and " + std::to_string(in.skv) +
                         ", none may be below 0");
  }
  if (Status s = require(in.q, "q", {in.batch, 1, in.sq, in.d}); !s.ok()) return s;
  if (Status s = require(in.k, "k", {in.batch, 1, in.skv, in.d}); !s.ok()) return s;
  return require(in.v, "v", {in.batch, 1, in.skv, in.dv});
}

/// Runs `attention` on each batch entry; out starts as zeros, what a row without keys gives.
template <class F>
Status for_each_entry(const BlockedInput& in, double scale, std::vector<double>& out,
                      const F& attention) {
  if (Status status = require_input(in); !status.ok()) return status;
  std::vector<double> result(std::size_t(in.batch * in.sq * in.dv), 0.0);
  for (std::int64_t b = 0; b < in.batch; ++b) {
    attention(Entry{.q = in.q.data() + b * in.sq * in.d,
                    .k = in.k.data() + b * in.skv * in.d,
                    .v = in.v.data() + b * in.skv * in.dv,
                    .out = result.data() + b * in.sq * in.dv,
                    .sq = in.sq,
                    .skv = in.skv,
                    .d = in.d,
                    .dv = in.dv,
                    .scale = scale});
  }
  out = std::move(result);
  return {};
}

Status out_of_memory() {
  return {StatusCode::out_of_memory, "memory ran out in the blocked lab"};
}

}  // namespace

Status plain_attention(const BlockedInput& input, double scale, std::vector<double>& out) noexcept
    try {
  return for_each_entry(input, scale, out, plain);
} catch (const std::exception&) {
  return out_of_memory();
}

Status blocked_attention(const BlockedInput& input, double scale, std::int64_t block,
                         std::vector<double>& out) noexcept try {
  if (block < 1) {
    return base::invalid("block: " + std::to_string(block) + " is below 1");
  }
  return for_each_entry(input, scale, out, [&](const Entry& entry) { blocked(entry, block); });
} catch (const std::exception&) {
  return out_of_memory();
}

}  // namespace regard::lab
