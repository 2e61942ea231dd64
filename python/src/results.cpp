#include "results.h"

#include "libraries.h"
#include "raise.h"
#include "single_arrays.h"

namespace regard::python {
namespace {

constexpr std::int64_t kTop = 5;  ///< of `top_keys` without a number

constexpr int kKeys[] = {0, 1, 3};

PyObject* result_class = nullptr;
PyObject* stats_class = nullptr;

constexpr Tensor Outputs::*kPlaces[] = {
    &Outputs::out,         &Outputs::lse,      &Outputs::weights, &Outputs::entropy,
    &Outputs::top_weights, &Outputs::top_keys, &Outputs::key_mass};
constexpr const char* kNames[] = {"out",         "lse",      "weights", "entropy",
                                  "top_weights", "top_keys", "key_mass"};

/// Strides of a dense array of a shape that nobody has checked yet: products that do not fit wrap.
Strides unchecked_strides(const Shape& shape) {
  Strides strides{};
  std::uint64_t dense = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = std::int64_t(dense);
    dense *= std::uint64_t(shape[axis]);
  }
  return strides;
}

PyObject* class_of(PyObject*& found, const char* name) {
  if (!found) {
    found = nb::object(nb::module_::import_("regard._results").attr(name)).release().ptr();
  }
  return found;
}

}  // namespace

void Statistics::take(nb::handle value) {
  const auto one = [this](nb::handle name, nb::handle how_many) {
    constexpr const char* words[] = {"entropy", "top_keys", "key_mass"};
    switch (choice(Name::stats, name, words)) {
      case 0:
        entropy = !how_many.is_valid() || truth(Name::stats, how_many);
        break;
      case 2:
        key_mass = !how_many.is_valid() || truth(Name::stats, how_many);
        break;
      default:
        top_keys = how_many.is_valid() ? integer(Name::stats, how_many) : kTop;
    }
  };
  if (PyUnicode_Check(value.ptr())) return one(value, {});
  if (is_bool(value)) {
    if (truth(value)) *this = {true, true, kTop};
    return;
  }
  if (PyDict_Check(value.ptr())) {
    for (const auto& [name, how_many] : nb::borrow<nb::dict>(value)) one(name, how_many);
    return;
  }
  if (!nb::hasattr(value, "__iter__")) {
    raise(PyExc_TypeError, "stats: " + repr_text(value) + " is no set of names");
  }
  for (nb::handle name : nb::iter(value)) one(name, {});
}

Results::Results(const Arguments& arguments, const Inputs& inputs, const OptionValues& values)
    : inputs_(inputs) {
  const auto [batch, heads, sq, d] = inputs.q.shape;
  const std::int64_t skv = inputs.k.shape[2];
  const DType compute = compute_type(inputs.q.dtype);
  const std::span<const int> rows_axes = lse_axes(inputs.rank());
  const std::span<const int> pairs_axes = tensor_axes(inputs.rank(), Layout::bhsd);
  if (arguments.has(Name::stats)) statistics_.take(arguments[Name::stats]);
  const bool return_lse = truth(Name::return_lse, arguments[Name::return_lse]);
  const bool return_weights = truth(Name::return_weights, arguments[Name::return_weights]);
  more_ = return_lse || return_weights || statistics_.any();
  given_out_ = arguments[Name::out];
  want(out, {batch, heads, sq, inputs.v.shape[3]}, inputs.q.dtype,
       tensor_axes(inputs.rank(), inputs.layout));
  out_dtype_ = arguments[Name::out_dtype];
  if (out_dtype_.is_valid()) wanted_[out].dtype = float_type(Name::out_dtype, out_dtype_);
  if (return_lse) want(lse, {batch, heads, sq, 1}, compute, rows_axes);
  if (return_weights) {
    const std::int64_t rows = values.rows.empty() ? sq : std::int64_t(values.rows.size());
    want(weights, {batch, heads, rows, skv}, compute, pairs_axes);
  }
  if (statistics_.entropy) want(entropy, {batch, heads, sq, 1}, compute, rows_axes);
  if (const std::int64_t top = statistics_.top_keys; top != 0) {
    want(top_weights, {batch, heads, sq, top}, compute, pairs_axes);
    want(top_keys, {batch, heads, sq, top}, DType::i64, pairs_axes);
  }
  if (statistics_.key_mass) {
    want(key_mass, {batch, heads, 1, skv}, compute,
         std::span(kKeys).subspan(std::size_t(4 - inputs.rank())));
  }
}

void Results::want(Place place, const Shape& shape, DType dtype, std::span<const int> axes) {
  Wanted& wanted = wanted_[place];
  wanted.is = true;
  wanted.shape = shape;
  wanted.dtype = dtype;
  wanted.axes = axes;
}

const Outputs& Results::make() {
  for (std::size_t place = 0; place < kCount; ++place) {
    Wanted& wanted = wanted_[place];
    if (!wanted.is) continue;
    if (place == out && given_out_.is_valid()) {
      wanted.array.take("out", given_out_, Array::Access::write);
      wanted.object = nb::borrow(given_out_);
      if (wanted.array.rank() != inputs_.rank()) {
        raise(PyExc_ValueError, "out: rank " + std::to_string(wanted.array.rank()) +
                                    " differs from q's " + std::to_string(inputs_.rank()));
      }
      require_type_of_out(out_dtype_, wanted.array.dtype());
    } else {
      wanted.object = wanted.array.make(kNames[place], inputs_.q_array.kind(), wanted.shape,
                                        wanted.axes, wanted.dtype);
    }
    outputs_.*kPlaces[place] = wanted.array.view(wanted.axes);
  }
  return outputs_;
}

const Outputs& Results::pretend() {
  static double memory{};
  for (std::size_t place = 0; place < kCount; ++place) {
    const Wanted& wanted = wanted_[place];
    if (!wanted.is) continue;
    outputs_.*
        kPlaces[place] = {&memory, wanted.dtype, wanted.shape, unchecked_strides(wanted.shape)};
  }
  return outputs_;
}

nb::object Results::finished(Place place) {
  Wanted& wanted = wanted_[place];
  if (!wanted.is) return nb::none();
  if (inputs_.q_array.kind() != Kind::other || (place == out && given_out_.is_valid())) {
    return std::move(wanted.object);
  }
  return from_memory(inputs_.q_array.object(), wanted.object);
}

nb::object Results::take() {
  nb::object array = finished(out);
  if (!more_) return array;
  nb::object stats = nb::none();
  if (statistics_.any()) {
    stats = nb::handle(class_of(stats_class, "Stats"))(finished(entropy), finished(top_weights),
                                                       finished(top_keys), finished(key_mass));
  }
  return nb::handle(class_of(result_class, "Result"))(array, finished(lse), finished(weights),
                                                      stats);
}

}  // namespace regard::python
