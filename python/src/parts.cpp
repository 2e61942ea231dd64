#include "parts.h"

#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "call.h"
#include "keywords.h"
#include "libraries.h"
#include "options.h"
#include "raise.h"
#include "regard/merge.h"
#include "results.h"
#include "sequences.h"
#include "single_arrays.h"

namespace regard::python {
namespace {

constexpr Name kMore[] = {Name::out,  Name::out_dtype, Name::return_lse, Name::return_weights,
                          Name::rows, Name::stats};

/// The engine's sentence with this function's names of the starts.
Status renamed(const Status& status) {
  std::string message = status.message();
  for (const auto& [from, to] :
       {std::pair("sequences.q:", "q_starts:"), std::pair("sequences.kv:", "kv_starts:")}) {
    if (message.starts_with(from)) message.replace(0, std::strlen(from), to);
  }
  return {status.code(), message};
}

nb::object attention_varlen(nb::handle q, nb::handle k, nb::handle v, nb::handle q_starts,
                            nb::handle kv_starts, const nb::dict& options) {
  const KeywordArguments keywords({"attention_varlen", kQkv, kMore}, {q, k, v}, options);
  Inputs in;
  OptionValues values;
  in.take(*keywords);
  const std::vector<std::int64_t> rows = integers(Name::q_starts, q_starts);
  const std::vector<std::int64_t> keys = integers(Name::kv_starts, kv_starts);
  const Lengths lengths = unlike_lengths(differences(rows), differences(keys));
  values.take(*keywords, lengths.rows, lengths.keys);
  Results results(*keywords, in, values);
  const Context& context = serving(in.q_array.kind(), values.options);
  if (results.more()) {  // Large arrays are not made for a call that the engine would refuse.
    Explanation explanation;
    require(renamed(explain_varlen(context, in.q, in.k, in.v, {rows, keys}, results.pretend(),
                                   values.options, explanation)));
  }
  const Outputs& outputs = results.make();
  run_engine([&](std::function<bool()> cancel) {
    values.options.cancel = std::move(cancel);
    return renamed(
        forward_varlen(context, in.q, in.k, in.v, {rows, keys}, outputs, values.options));
  });
  return results.take();
}

/// Parts, and the arrays that they view.
struct Parts {
  std::deque<std::string> names;
  std::deque<Array> arrays;
  std::vector<Part> views;
  Array sinks_array;
  ConstTensor sinks;
  Layout layout = Layout::bhsd;

  const Array& first_out() const { return arrays[0]; }
  const Array& first_lse() const { return arrays[1]; }

  /// A pair of arrays more. All have the rank of the first.
  void add(nb::handle out, nb::handle lse) {
    const std::string part = "parts[" + std::to_string(views.size()) + "].";
    const char* const out_name = names.emplace_back(part + "out").c_str();
    const char* const lse_name = names.emplace_back(part + "lse").c_str();
    Array& array = arrays.emplace_back();
    Part view;
    view.out = views.empty() ? take_any(out_name, out, layout, array)
                             : take_out(out_name, out, first_out().rank(), layout, array);
    view.lse = take_lse(lse_name, lse, array.rank(), arrays.emplace_back());
    views.push_back(view);
  }

  void take_sinks(nb::handle object) {
    constexpr int heads[] = {1};
    sinks_array.take("sinks", object);
    if (sinks_array.rank() != 1) {
      raise(PyExc_ValueError,
            "sinks: rank " + std::to_string(sinks_array.rank()) + " where 1 (Hq) is needed");
    }
    sinks = sinks_array.view(heads);
  }
};

/// An output of merge: the caller's array or one of the kind of `like`.
struct Merged {
  Array array;
  nb::object object;
  nb::object from;  ///< what a made array is given back like; null for one of the caller's

  Tensor make(const char* name, const Array& like, const ConstTensor& part,
              std::span<const int> axes) {
    object = array.make(name, like.kind(), part.shape, axes, part.dtype);
    if (like.kind() == Kind::other) from = nb::borrow(like.object());
    return array.view(axes);
  }

  nb::object take() { return from.is_valid() ? from_memory(from, object) : object; }
};

/// `arrays` is (outs, lses, sinks, out, lse), the last three or None.
nb::tuple merge_parts(const nb::list& outs, const nb::list& lses, const nb::tuple& given,
                      nb::handle layout, nb::handle out_dtype) {
  Parts parts;
  parts.layout = layout_of(layout);
  for (std::size_t n = 0; n < nb::len(outs); ++n) parts.add(outs[n], lses[n]);
  if (!given[0].is_none()) parts.take_sinks(given[0]);
  const int rank = parts.first_out().rank();
  Merged out, lse;
  Tensor out_view, lse_view;
  if (given[1].is_none()) {
    ConstTensor like = parts.views[0].out;
    if (!out_dtype.is_none()) like.dtype = float_type(Name::out_dtype, out_dtype);
    out_view = out.make("out", parts.first_out(), like, tensor_axes(rank, parts.layout));
  } else {
    out.object = nb::borrow(given[1]);
    out_view = take_out("out", given[1], rank, parts.layout, out.array, Array::Access::write);
    require_type_of_out(out_dtype, out_view.dtype);
  }
  if (given[2].is_none()) {
    lse_view = lse.make("lse", parts.first_lse(), parts.views[0].lse, lse_axes(rank));
  } else {
    lse.object = nb::borrow(given[2]);
    lse_view = take_lse("lse", given[2], rank, lse.array, Array::Access::write);
  }
  run_engine([&](const std::function<bool()>&) {
    return merge(parts.views, parts.sinks, out_view, lse_view);
  });
  return nb::make_tuple(out.take(), lse.take());
}

}  // namespace

void add_parts(nb::module_& module) {
  module.def("attention_varlen", attention_varlen, nb::arg("q").none(), nb::arg("k").none(),
             nb::arg("v").none(), nb::arg("q_starts").none(), nb::arg("kv_starts").none(),
             nb::arg("options"));
  module.def("merge", merge_parts, nb::arg("outs"), nb::arg("lses"), nb::arg("given"),
             nb::arg("layout").none(), nb::arg("out_dtype").none());
}

}  // namespace regard::python
