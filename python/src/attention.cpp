#include "attention.h"

#include "arguments.h"
#include "call.h"
#include "options.h"
#include "regard/attention.h"
#include "results.h"

namespace regard::python {
namespace {

constexpr Name kPositional[] = {Name::q, Name::k, Name::v};
constexpr Name kKeywords[] = {
    Name::scale,         Name::causal,    Name::q_offset,     Name::window,         Name::softcap,
    Name::bias,          Name::mask,      Name::alibi_slopes, Name::sinks,          Name::q_len,
    Name::kv_len,        Name::precision, Name::path,         Name::threads,        Name::layout,
    Name::out,           Name::out_dtype, Name::return_lse,   Name::return_weights, Name::rows,
    Name::weights_stage, Name::stats,
};
constexpr Signature kAttention = {"attention", kPositional, kKeywords};
constexpr Signature kExplain = {"explain", kPositional, kKeywords};

struct Call {
  Arguments arguments;
  Inputs inputs;
  OptionValues values;
  std::optional<Results> results;

  Call(const Signature& signature, PyObject* const* objects, Py_ssize_t count, PyObject* words)
      : arguments(signature, objects, count, words) {
    inputs.take(arguments);
    values.take(arguments, inputs.q.shape[2], inputs.k.shape[2]);
    results.emplace(arguments, inputs, values);
  }
};

PyObject* attention(PyObject*, PyObject* const* objects, Py_ssize_t count, PyObject* words) {
  return entry([&] {
    Call call(kAttention, objects, count, words);
    const Outputs& outputs = call.results->make();
    run_engine([&](std::function<bool()> cancel) {
      call.values.options.cancel = std::move(cancel);
      return forward(context(), call.inputs.q, call.inputs.k, call.inputs.v, outputs,
                     call.values.options);
    });
    return call.results->take().release().ptr();
  });
}

PyObject* explain_call(PyObject*, PyObject* const* objects, Py_ssize_t count, PyObject* words) {
  return entry([&] {
    Call call(kExplain, objects, count, words);
    Explanation explanation;
    require(explain(context(), call.inputs.q, call.inputs.k, call.inputs.v, call.results->pretend(),
                    call.values.options, explanation));
    return nb::cast(std::move(explanation)).release().ptr();
  });
}

constexpr char kAttentionDoc[] = R"(attention(q, k, v, **options)
--

Exact scaled-dot-product attention, softmax(scale q k') v.)";

PyMethodDef methods[] = {
    {"attention", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(attention)),
     METH_FASTCALL | METH_KEYWORDS, kAttentionDoc},
    {"explain", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(explain_call)),
     METH_FASTCALL | METH_KEYWORDS, "explain"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_attention(nb::module_& module) {
  checked(PyModule_AddFunctions(module.ptr(), methods));
}

}  // namespace regard::python
