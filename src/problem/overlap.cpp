#include "problem/overlap.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <vector>

#include "base/status_text.h"

namespace regard::problem {
namespace {

/// Bytes [begin, end) relative to some origin.
struct Extent {
  std::intptr_t begin = 0;
  std::intptr_t end = 0;
};

bool empty(const ConstTensor& tensor) {
  return !tensor.data || std::ranges::any_of(tensor.shape, [](auto n) { return n == 0; });
}

/// The smallest extent that holds the whole view.
Extent hull(const ConstTensor& tensor) {
  const std::intptr_t bytes = element_bytes(tensor.dtype);
  Extent extent{reinterpret_cast<std::intptr_t>(tensor.data), 0};
  extent.end = extent.begin + bytes;
  for (std::size_t axis = 0; axis < 4; ++axis) {
    const std::intptr_t reach = (tensor.shape[axis] - 1) * tensor.strides[axis] * bytes;
    (reach < 0 ? extent.begin : extent.end) += reach;
  }
  return extent;
}

/// Every contiguous run of the view's last axis (every element, where it is strided), sorted.
std::vector<Extent> sorted_runs(const ConstTensor& tensor) {
  const std::intptr_t bytes = element_bytes(tensor.dtype);
  const auto& stride = tensor.strides;
  Shape n = tensor.shape;
  for (std::size_t axis = 0; axis < 4; ++axis) {
    if (stride[axis] == 0) n[axis] = 1;  // the same elements again
  }
  const bool dense = stride[3] == 1;
  const std::int64_t run = dense ? n[3] : 1;
  std::vector<Extent> runs;
  runs.reserve(std::size_t(n[0] * n[1] * n[2] * (n[3] / run)));
  const auto origin = reinterpret_cast<std::intptr_t>(tensor.data);
  for (std::int64_t b = 0; b < n[0]; ++b) {
    for (std::int64_t h = 0; h < n[1]; ++h) {
      for (std::int64_t s = 0; s < n[2]; ++s) {
        for (std::int64_t d = 0; d < n[3]; d += run) {
          const std::intptr_t at =
              origin + (b * stride[0] + h * stride[1] + s * stride[2] + d * stride[3]) * bytes;
          runs.push_back({at, at + run * bytes});
        }
      }
    }
  }
  std::ranges::sort(runs, {}, &Extent::begin);
  return runs;
}

/// Sufficient for distinct elements: sorted by stride, each axis steps over all smaller ones.
bool axes_nest(const ConstTensor& tensor) {
  std::array<std::size_t, 4> order = {0, 1, 2, 3};
  const auto step = [&](std::size_t axis) {
    return tensor.shape[axis] == 1 ? 0 : std::abs(tensor.strides[axis]);
  };
  std::ranges::sort(order, {}, step);
  std::int64_t reach = 0;
  for (const std::size_t axis : order) {
    if (tensor.shape[axis] == 1) continue;
    if (step(axis) <= reach) return false;
    reach += step(axis) * (tensor.shape[axis] - 1);
  }
  return true;
}

}  // namespace

bool overlaps_itself(const ConstTensor& tensor) {
  if (empty(tensor) || axes_nest(tensor)) return false;
  for (std::size_t axis = 0; axis < 4; ++axis) {
    if (tensor.shape[axis] > 1 && tensor.strides[axis] == 0) return true;
  }
  const Extent places = hull(tensor);
  const std::int64_t elements =
      tensor.shape[0] * tensor.shape[1] * tensor.shape[2] * tensor.shape[3];
  if ((places.end - places.begin) / element_bytes(tensor.dtype) < elements) return true;
  const auto runs = sorted_runs(tensor);
  return std::ranges::adjacent_find(
             runs, [](const Extent& a, const Extent& b) { return b.begin < a.end; }) != runs.end();
}

bool overlap(const ConstTensor& a, const ConstTensor& b) {
  if (empty(a) || empty(b)) return false;
  const Extent hull_a = hull(a);
  const Extent hull_b = hull(b);
  if (hull_a.end <= hull_b.begin || hull_b.end <= hull_a.begin) return false;
  const auto runs_a = sorted_runs(a);
  const auto runs_b = sorted_runs(b);
  auto in_b = runs_b.begin();
  std::intptr_t reach_b = std::numeric_limits<std::intptr_t>::min();
  for (const Extent& run : runs_a) {
    for (; in_b != runs_b.end() && in_b->begin < run.end; ++in_b) {
      reach_b = std::max(reach_b, in_b->end);
    }
    if (reach_b > run.begin) return true;
  }
  return false;
}

}  // namespace regard::problem
