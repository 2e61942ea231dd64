// KVCache.gather: tokens of a sequence, in arrays of the caller's or of its own.
#include <cstdint>
#include <span>
#include <string>

#include "cache.h"
#include "method.h"
#include "options.h"
#include "raise.h"
#include "single_arrays.h"

namespace regard::python {
namespace {

/// Tokens of K or V, gathered into `given`, or into a NumPy array of their own.
struct Tokens {
  Array array;
  nb::object object;
  Tensor view;

  void take(const char* name, nb::handle given, Layout layout) {
    object = nb::borrow(given);
    view = take_any(name, given, layout, array, Array::Access::write);
  }

  void make(const char* name, const Shape& shape, DType dtype, Layout layout) {
    const std::span<const int> axes = tensor_axes(3, layout);
    object = array.make(name, Kind::numpy, shape, axes, dtype);
    view = array.view(axes);
  }
};

/// The arrays `out` of gather: a pair (k, v), which has to fit what else is said.
void take_pair(nb::handle out, Layout layout, nb::handle out_dtype, Tokens& k, Tokens& v) {
  if (!nb::hasattr(out, "__iter__")) {
    raise(PyExc_TypeError, "out: " + repr_text(out) + " is no pair of arrays (k, v)");
  }
  const nb::tuple pair(nb::borrow(out));
  if (nb::len(pair) != 2) {
    raise(PyExc_ValueError,
          "out: " + std::to_string(nb::len(pair)) + " arrays where 2 (k, v) are needed");
  }
  k.take("out[0]", pair[0], layout);
  v.take("out[1]", pair[1], layout);
  require_type_of_out(out_dtype, k.view.dtype);
  require_type_of_out(out_dtype, v.view.dtype);
}

}  // namespace

nb::object gather(Cache& self, const MethodArguments& in) {
  const nb::handle end = in["end"], out_dtype = in["out_dtype"], out = in["out"];
  const KvCacheOptions& options = self.options();
  const Layout order = layout_of(in["layout"]);
  const std::int64_t sequence = in.integer("sequence"), first = in.integer("begin", 0);
  Tokens k, v;
  if (!out.is_none()) take_pair(out, order, out_dtype, k, v);
  const std::int64_t tokens = known(self, sequence, &KvCache::length);
  std::int64_t last = out.is_none() ? tokens : k.view.shape[2];
  if (!end.is_none()) last = in.integer("end");
  if (!out.is_none()) {
    if (!end.is_none() && last - first != k.view.shape[2]) {
      raise(PyExc_ValueError, "end: " + std::to_string(last) + " from begin " +
                                  std::to_string(first) + " differs from the " +
                                  std::to_string(k.view.shape[2]) + " tokens of out");
    }
  } else {
    if (first < 0 || last < first || last > tokens) {
      raise(PyExc_ValueError, "begin, end: " + std::to_string(first) + " and " +
                                  std::to_string(last) + " are no part of the " +
                                  std::to_string(tokens) + " tokens of sequence " +
                                  std::to_string(sequence));
    }
    const DType dtype = out_dtype.is_none() ? DType::f32 : float_type(Name::out_dtype, out_dtype);
    k.make("k", {1, options.kv_heads, last - first, options.k_head_size}, dtype, order);
    v.make("v", {1, options.kv_heads, last - first, options.v_head_size}, dtype, order);
  }
  require(self.read(
      [&](const KvCache& cache) { return cache.gather(sequence, first, k.view, v.view); }));
  return nb::make_tuple(k.object, v.object);
}

}  // namespace regard::python
