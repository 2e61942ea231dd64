// regard._core.decode.
#include "regard/decode.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cache.h"
#include "call.h"
#include "keywords.h"
#include "options.h"
#include "raise.h"
#include "results.h"
#include "sequences.h"
#include "single_arrays.h"

namespace regard::python {
namespace {

constexpr Name kInputs[] = {Name::q};
constexpr Name kMore[] = {Name::out, Name::out_dtype, Name::return_lse};

/// Tokens of each sequence; 0 of those that do not exist, which decode will refuse.
std::vector<std::int64_t> lengths_of(const Cache& cache,
                                     const std::vector<std::int64_t>& sequences) {
  return cache.read([&](const KvCache& held) {
    std::vector<std::int64_t> lengths;
    for (const std::int64_t n : sequences)
      lengths.push_back(std::max<std::int64_t>(0, held.length(n)));
    return lengths;
  });
}

/// A call's arguments with their memory. `in` is what it would be for `forward`: K and V have
/// shapes alone.
struct Call {
  KeywordArguments keywords;
  std::vector<std::int64_t> sequences, starts, parents;
  Inputs in;
  OptionValues values;

  Call(nb::handle q, const Cache& cache, nb::handle which, const nb::dict& options)
      : keywords({"decode", kInputs, kMore}, {q}, options),
        sequences(integers(Name::sequences, which)) {
    const Arguments& given = *keywords;
    if (given.has(Name::layout)) in.layout = layout_of(given[Name::layout]);
    in.q = take_any("q", given[Name::q], in.layout, in.q_array);
    const std::vector<std::int64_t> lengths = lengths_of(cache, sequences);
    const std::int64_t longest = lengths.empty() ? 0 : std::ranges::max(lengths);
    in.k.shape = {std::int64_t(sequences.size()), cache.options().kv_heads, longest, in.q.shape[3]};
    in.v.shape = in.k.shape;
    in.v.shape[3] = cache.options().v_head_size;
  }

  void take_rows(nb::handle given_starts, nb::handle given_parents, const Cache& cache) {
    if (!given_starts.is_none()) starts = integers(Name::starts, given_starts);
    if (!given_parents.is_none()) parents = integers(Name::parents, given_parents);
    const std::vector<std::int64_t> rows =
        starts.empty() ? std::vector<std::int64_t>(sequences.size(), in.q.shape[2])
                       : differences(starts);
    const Lengths lengths = unlike_lengths(rows, lengths_of(cache, sequences));
    values.take(*keywords, lengths.rows, lengths.keys);
  }
};

nb::object decode_rows(nb::handle q, const Cache& cache, nb::handle sequences, nb::handle starts,
                       nb::handle parents, const nb::dict& options) {
  Call call(q, cache, sequences, options);
  call.take_rows(starts, parents, cache);
  Results results(*call.keywords, call.in, call.values);
  const Outputs& outputs = results.make();
  const Context& context = serving(call.in.q_array.kind(), call.values.options);
  run_engine([&](std::function<bool()> cancel) {
    call.values.options.cancel = std::move(cancel);
    return cache.read_released([&](const KvCache& held) {
      return decode(context, call.in.q, held, call.sequences, {call.starts, call.parents}, outputs,
                    call.values.options);
    });
  });
  return results.take();
}

}  // namespace

void add_decode(nb::module_& module) {
  module.def("decode", decode_rows, nb::arg("q").none(), nb::arg("cache"),
             nb::arg("sequences").none(), nb::arg("starts").none(), nb::arg("parents").none(),
             nb::arg("options"));
}

}  // namespace regard::python
