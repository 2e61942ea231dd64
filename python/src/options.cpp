#include "options.h"

#include <algorithm>
#include <array>
#include <limits>

#include "libraries.h"
#include "raise.h"

namespace regard::python {
namespace {

constexpr int kAxes[] = {0, 1, 2, 3};
constexpr int kAxesBshd[] = {0, 2, 1, 3};
constexpr int kAxesShd[] = {2, 1, 3};

constexpr const char* kLayouts[] = {"bhsd", "bshd"};
constexpr const char* kCausal[] = {"none", "top_left", "bottom_right"};
constexpr const char* kPrecisions[] = {"default", "high"};
constexpr const char* kPaths[] = {"auto", "direct", "tiles", "decode"};
constexpr const char* kStages[] = {"softmax", "scaled", "capped", "biased"};

[[noreturn]] void bad_rank(Name name, const Array& array, const char* wanted) {
  raise(PyExc_ValueError, std::string(text(name)) + ": rank " + std::to_string(array.rank()) +
                              " of shape " + shape_text(array.shape()) + " is not " + wanted);
}

/// An array of rank 1 to `most`, aligned to the last of `axes`.
ConstTensor take_last_axes(Name name, nb::handle value, Array& array, std::span<const int> axes) {
  array.take(text(name), value);
  if (std::size_t(array.rank()) > axes.size()) {
    bad_rank(name, array, axes.size() == 4 ? "at most 4" : "1 or 2");
  }
  return array.view(axes.last(std::size_t(array.rank())), name == Name::mask ? "bool" : kFloats);
}

Causal causal_of(nb::handle value, std::int64_t sq, std::int64_t skv, bool offset_given) {
  if (!is_bool(value)) return Causal(choice(Name::causal, value, kCausal));
  if (!truth(value)) return Causal::none;
  if (sq != skv && !offset_given) {
    raise(PyExc_ValueError, "causal: True could mean two things for " + std::to_string(sq) +
                                " rows and " + std::to_string(skv) +
                                " keys; say 'top_left' or 'bottom_right'");
  }
  return Causal::top_left;
}

Window window_of(nb::handle value) {
  const std::vector<std::int64_t> ends = integers(Name::window, value);
  if (ends.size() == 1) {
    if (ends[0] > 0) return last_n_keys(ends[0]);
    raise(PyExc_ValueError, "window: " + std::to_string(ends[0]) +
                                " keys are below 1; (-1, -1) is a window without limits");
  }
  if (ends.size() != 2) {
    raise(PyExc_ValueError, "window: " + std::to_string(ends.size()) +
                                " numbers; a window is one int or (left, right)");
  }
  return {ends[0], ends[1]};
}

}  // namespace

Layout layout_of(nb::handle value) {
  if (value.is_none()) return Layout::bhsd;
  return Layout(choice(Name::layout, value, kLayouts));
}

std::span<const int> tensor_axes(int rank, Layout layout) {
  const auto dropped = std::size_t(4 - rank);
  if (layout == Layout::bhsd || rank == 2) return std::span(kAxes).subspan(dropped);
  if (rank == 3) return kAxesShd;
  return kAxesBshd;
}

void Inputs::take(const Arguments& arguments) {
  if (arguments.has(Name::layout)) layout = layout_of(arguments[Name::layout]);
  q_array.take("q", arguments[Name::q]);
  k_array.take("k", arguments[Name::k]);
  v_array.take("v", arguments[Name::v]);
  if (rank() < 2 || rank() > 4) {
    bad_rank(Name::q, q_array,
             layout == Layout::bhsd ? "2 (S,D), 3 (H,S,D) or 4 (B,H,S,D)"
                                    : "2 (S,D), 3 (S,H,D) or 4 (B,S,H,D)");
  }
  const auto same_rank = [this](const char* name, const Array& array) {
    if (array.rank() == rank()) return;
    raise(PyExc_ValueError, std::string(name) + ": rank " + std::to_string(array.rank()) +
                                " differs from q's " + std::to_string(rank()));
  };
  same_rank("k", k_array);
  same_rank("v", v_array);
  const std::span<const int> axes = tensor_axes(rank(), layout);
  q = q_array.view(axes);
  k = k_array.view(axes);
  v = v_array.view(axes);
}

void OptionValues::take(const Arguments& arguments, std::int64_t sq, std::int64_t skv) {
  const auto with = [&](Name name, const auto& set) {
    if (arguments.has(name)) set(arguments[name]);
  };
  const auto list = [&](Name name, std::vector<std::int64_t>& held,
                        std::span<const std::int64_t>& option) {
    if (!arguments.has(name)) return;
    held = integers(name, arguments[name]);
    option = held;
  };
  constexpr int heads_axis[] = {1}, slopes_axes[] = {0, 1};
  with(Name::scale, [&](nb::handle value) { options.scale = number(Name::scale, value); });
  with(Name::softcap, [&](nb::handle value) { options.softcap = number(Name::softcap, value); });
  with(Name::bias,
       [&](nb::handle value) { options.bias = take_last_axes(Name::bias, value, bias, kAxes); });
  with(Name::mask,
       [&](nb::handle value) { options.mask = take_last_axes(Name::mask, value, mask, kAxes); });
  with(Name::alibi_slopes, [&](nb::handle value) {
    options.alibi_slopes = take_last_axes(Name::alibi_slopes, value, alibi_slopes, slopes_axes);
  });
  with(Name::sinks, [&](nb::handle value) {
    options.sinks = take_last_axes(Name::sinks, value, sinks, heads_axis);
  });
  list(Name::q_offset, q_offset, options.q_offset);
  list(Name::q_len, q_len, options.q_len);
  list(Name::kv_len, kv_len, options.kv_len);
  list(Name::rows, rows, options.rows);
  if (arguments.has(Name::rows) && rows.empty()) {
    raise(PyExc_ValueError, "rows: empty; leave it out for every row");
  }
  with(Name::causal, [&](nb::handle value) {
    options.causal = causal_of(value, sq, skv, arguments.has(Name::q_offset));
  });
  with(Name::window, [&](nb::handle value) { options.window = window_of(value); });
  with(Name::precision, [&](nb::handle value) {
    options.precision = Precision(choice(Name::precision, value, kPrecisions));
  });
  with(Name::path,
       [&](nb::handle value) { options.path = Path(choice(Name::path, value, kPaths)); });
  with(Name::threads, [&](nb::handle value) {
    constexpr std::int64_t most = std::numeric_limits<int>::max();
    const std::int64_t wanted = integer(Name::threads, value);
    options.threads = int(std::clamp(wanted, -most, most));
  });
  with(Name::weights_stage, [&](nb::handle value) {
    options.weights_stage = Stage(choice(Name::weights_stage, value, kStages));
  });
}

std::vector<std::int64_t> integers(Name name, nb::handle value) {
  std::vector<std::int64_t> found;
  if (PyLong_Check(value.ptr()) || PyFloat_Check(value.ptr())) return {integer(name, value)};
  if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr())) {
    found.reserve(std::size_t(PySequence_Fast_GET_SIZE(value.ptr())));
    // Asked for again each time, and the item held: __index__ of one may change the list.
    for (Py_ssize_t n = 0; n < PySequence_Fast_GET_SIZE(value.ptr()); ++n) {
      const nb::object item = nb::borrow(PySequence_Fast_GET_ITEM(value.ptr(), n));
      found.push_back(integer(name, item));
    }
    return found;
  }
  if (PyIndex_Check(value.ptr()) && !nb::hasattr(value, "shape")) return {integer(name, value)};
  if (PySequence_Check(value.ptr()) && !nb::hasattr(value, "__dlpack__") &&
      !PyObject_CheckBuffer(value.ptr()) && !PyUnicode_Check(value.ptr())) {
    const nb::object list = nb::steal(checked(PySequence_List(value.ptr())));
    return integers(name, list);
  }
  Array array;
  array.take(text(name), value);
  if (array.rank() == 0) return {integer(name, value)};
  if (array.rank() != 1) bad_rank(name, array, "0 or 1");
  for (std::int64_t n = 0; n < array.size(0); ++n) found.push_back(array.integer(n));
  return found;
}

DType float_type(Name name, nb::handle value) {
  struct Word {
    const char* name;
    DType dtype;
  };
  constexpr Word words[] = {
      {"float64", DType::f64},   {"float32", DType::f32}, {"float16", DType::f16},
      {"bfloat16", DType::bf16}, {"f64", DType::f64},     {"f32", DType::f32},
      {"f16", DType::f16},       {"bf16", DType::bf16},
  };
  nb::object given = nb::borrow(value);
  if (PyType_Check(value.ptr())) {
    given = value.attr("__name__");
  } else if (!PyUnicode_Check(value.ptr())) {
    const bool named = nb::hasattr(value, "name");
    given = nb::str(named ? nb::object(value.attr("name")) : given).attr("removeprefix")("torch.");
  }
  for (const Word& word : words) {
    if (PyUnicode_Check(given.ptr()) &&
        PyUnicode_CompareWithASCIIString(given.ptr(), word.name) == 0) {
      return word.dtype;
    }
  }
  raise(PyExc_TypeError, std::string(text(name)) + ": " + repr_text(value) +
                             " is none of float64, float32, float16 and bfloat16");
}

void require_type_of_out(nb::handle out_dtype, DType found) {
  if (!out_dtype.is_valid() || out_dtype.is_none()) return;
  const DType wanted = float_type(Name::out_dtype, out_dtype);
  if (wanted == found) return;
  raise(PyExc_ValueError, std::string("out_dtype: ") + dtype_name(wanted) + " differs from out's " +
                              dtype_name(found));
}

}  // namespace regard::python
