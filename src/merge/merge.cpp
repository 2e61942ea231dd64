// A row at a time: the shares of its parts from their log-sum-exps, then blocks of columns, each
// summed over the parts in a small array of f64 before it is written, so that an output may be the
// view of a part. Memory decides the speed, not arithmetic.
#include "regard/merge.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/guard.h"
#include "base/read.h"
#include "problem/merge_call.h"
#include "regard/half.h"

namespace regard {
namespace {

constexpr double kEmpty = -std::numeric_limits<double>::infinity();
constexpr std::int64_t kColumns = 256;

void narrow(double x, double& to) noexcept {
  to = x;
}
void narrow(double x, float& to) noexcept {
  to = float(x);
}
void narrow(double x, F16& to) noexcept {
  to = to_f16(float(x));
}
void narrow(double x, BF16& to) noexcept {
  to = to_bf16(float(x));
}

/// Calls f(d, element d) for n elements; the dense case by itself, to be vectorised.
template <class T, class F>
void each(T* data, std::int64_t stride, std::int64_t n, const F& f) noexcept {
  if (stride == 1) {
    for (std::int64_t d = 0; d < n; ++d) f(d, data[d]);
  } else {
    for (std::int64_t d = 0; d < n; ++d) f(d, data[d * stride]);
  }
}

struct Row {
  std::int64_t b, h, i;
};

std::int64_t offset(const Strides& stride, const Row& row, std::int64_t d) noexcept {
  return row.b * stride[0] + row.h * stride[1] + row.i * stride[2] + d * stride[3];
}

/// A part that is not empty in the row at hand.
struct Share {
  const Part* part;
  double weight;  ///< first e^(lse_n - m), then of the whole
};

class Merge {
 public:
  Merge(std::span<const Part> parts, const ConstTensor& sinks, const Tensor& out, const Tensor& lse)
      : parts_(parts), sinks_(sinks), out_(out), lse_(lse) {
    shares_.reserve(parts.size());
  }

  void row(const Row& row) noexcept {
    const double sum = weigh(row);
    if (lse_.data) {
      const double lse = sum == 0 ? kEmpty : reference_ + std::log(sum);
      base::with_float_type(lse_.dtype, [&]<class T>(const T*) {
        narrow(lse, static_cast<T*>(lse_.data)[offset(lse_.strides, row, 0)]);
      });
    }
    if (!out_.data) return;
    for (Share& share : shares_) share.weight /= sum;
    for (std::int64_t d = 0; d < out_.shape[3]; d += kColumns) {
      // What a row without parts gives: 0, or NaN where its sink is NaN.
      std::fill(columns_, columns_ + kColumns, 0 * sum);
      add(row, d, std::min(kColumns, out_.shape[3] - d));
    }
  }

 private:
  /// Finds the row's parts and their weights against `reference_`, the largest lse. Returns the sum
  /// of the weights and that of the sink: 0 for an empty row, else at least 1, or NaN.
  double weigh(const Row& row) noexcept {
    const double sink = sinks_.data ? base::read_float(sinks_, {0, row.h, 0, 0}) : kEmpty;
    reference_ = sink;
    shares_.clear();
    for (const Part& part : parts_) {
      const double lse = base::read_float(part.lse, {row.b, row.h, row.i, 0});
      if (lse == kEmpty) continue;
      shares_.push_back({&part, lse});
      reference_ = std::max(reference_, lse);
    }
    double sum = 0;
    for (Share& share : shares_) {
      share.weight = std::exp(share.weight - reference_);
      sum += share.weight;
    }
    return sink == kEmpty ? sum : sum + std::exp(sink - reference_);
  }

  /// Columns [d, d + n) of a row. The first part is not added to 0, which keeps a -0.
  void add(const Row& row, std::int64_t d, std::int64_t n) noexcept {
    bool first = true;
    for (const Share& share : shares_) {
      const ConstTensor& from = share.part->out;
      const double weight = share.weight;
      base::with_float_type(from.dtype, [&]<class T>(const T*) {
        const T* data = static_cast<const T*>(from.data) + offset(from.strides, row, d);
        if (first) {
          each(data, from.strides[3], n,
               [&](std::int64_t at, T x) { columns_[at] = weight * base::widen(x); });
        } else {
          each(data, from.strides[3], n,
               [&](std::int64_t at, T x) { columns_[at] += weight * base::widen(x); });
        }
      });
      first = false;
    }
    base::with_float_type(out_.dtype, [&]<class T>(const T*) {
      T* data = static_cast<T*>(out_.data) + offset(out_.strides, row, d);
      each(data, out_.strides[3], n, [&](std::int64_t at, T& x) { narrow(columns_[at], x); });
    });
  }

  std::span<const Part> parts_;
  const ConstTensor& sinks_;
  const Tensor& out_;
  const Tensor& lse_;
  std::vector<Share> shares_;
  double reference_ = kEmpty;
  double columns_[kColumns];
};

}  // namespace

Status merge(std::span<const Part> parts, const ConstTensor& sinks, const Tensor& out,
             const Tensor& lse) noexcept {
  return base::guarded([&]() -> Status {
    if (Status status = problem::check_merge(parts, sinks, out, lse); !status.ok()) return status;
    const Shape& rows = parts.front().lse.shape;
    Merge merge(parts, sinks, out, lse);
    for (std::int64_t b = 0; b < rows[0]; ++b) {
      for (std::int64_t h = 0; h < rows[1]; ++h) {
        for (std::int64_t i = 0; i < rows[2]; ++i) merge.row({b, h, i});
      }
    }
    return {};
  });
}

}  // namespace regard
