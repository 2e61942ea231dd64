#include "attention.h"

#include "arguments.h"
#include "call.h"
#include "options.h"
#include "regard/attention.h"
#include "results.h"

namespace regard::python {
namespace {

constexpr Name kMore[] = {Name::out,  Name::out_dtype,     Name::return_lse, Name::return_weights,
                          Name::rows, Name::weights_stage, Name::stats};
constexpr Signature kAttention = {"attention", kQkv, kMore};
constexpr Signature kExplain = {"explain", kQkv, kMore};

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

Explanation explain(Call& call) {
  Explanation explanation;
  const Context& context = serving(call.inputs.q_array.kind(), call.values.options);
  require(regard::explain(context, call.inputs.q, call.inputs.k, call.inputs.v,
                          call.results->pretend(), call.values.options, explanation));
  return explanation;
}

PyObject* attention(PyObject*, PyObject* const* objects, Py_ssize_t count, PyObject* words) {
  return entry([&] {
    Call call(kAttention, objects, count, words);
    // Large arrays are not made for a call that the engine would refuse.
    if (call.results->more()) explain(call);
    const Outputs& outputs = call.results->make();
    const Context& context = serving(call.inputs.q_array.kind(), call.values.options);
    run_engine([&](std::function<bool()> cancel) {
      call.values.options.cancel = std::move(cancel);
      return forward(context, call.inputs.q, call.inputs.k, call.inputs.v, outputs,
                     call.values.options);
    });
    return call.results->take().release().ptr();
  });
}

PyObject* explain_call(PyObject*, PyObject* const* objects, Py_ssize_t count, PyObject* words) {
  return entry([&] {
    Call call(kExplain, objects, count, words);
    return nb::cast(explain(call)).release().ptr();
  });
}

constexpr char kAttentionDoc[] =
    R"(attention(q, k, v, *, scale=None, causal=None, q_offset=None, window=None,
          softcap=None, bias=None, mask=None, alibi_slopes=None, sinks=None,
          q_len=None, kv_len=None, precision='default', path='auto', threads=None,
          layout='bhsd', out=None, out_dtype=None, return_lse=False,
          return_weights=False, rows=None, weights_stage='softmax', stats=None)
--

Exact attention: softmax(scale q k' + bias) v, in memory that grows with the lengths alone.

q (B, Hq, Sq, D), k (B, Hkv, Skv, D) and v (B, Hkv, Skv, Dv) are arrays of one float type, f64,
f32, f16 or bf16: NumPy's, other buffers, or what speaks DLPack on the CPU (torch, JAX). They are
read in place at any strides, negative and 0 included. Of rank 3 they are (H, S, D), of rank 2
(S, D); with layout="bshd" (B, S, H, D), (S, H, D) and (S, D). Query head h reads KV head
floor(h Hkv / Hq). A row that sees no key gives 0.

scale: factor on q.k; default 1/sqrt(D).
causal: "top_left" (row 0 sees key 0 alone), "bottom_right" (the last row sees every key), "none";
    True where Sq = Skv, or with q_offset, means "top_left".
q_offset: position of row 0, one int or one a batch entry; replaces the offset of `causal`.
window: (left, right) keys seen around a row's own position, -1 unlimited; one int n, at least 1,
    is (n - 1, 0), the last n keys, the row's own included.
softcap: a score s becomes softcap tanh(s / softcap); 0 is off.
bias: float, added to the scores; broadcast against (B, Hq, Sq, Skv); only -inf hides a key.
mask: bool, True where the row sees the key; broadcast likewise.
alibi_slopes: (Hq) or (B, Hq); -slope |position - key| is added.
sinks: (Hq), one more logit in the denominator of each head, of value 0.
q_len, kv_len: rows and keys of each batch entry that exist; rows past the end give 0.
precision: "high" keeps the weights of half types in f32.
path: "auto", "direct", "tiles" or "decode".
threads: at most as many as OMP_NUM_THREADS or the CPUs of this process; default all. Calls on
    tensors run on PyTorch's threads, torch.get_num_threads() of them.
out: an array to write to, of the shape, rank and layout that the result has; it is returned.
out_dtype: type of out; default that of q.
return_lse: also the natural logarithm of each row's sum of exponentials (B, Hq, Sq).
return_weights: also the weights (B, Hq, Sq, Skv), or those of `rows` in their order. With
    weights_stage="scaled", "capped" or "biased" the scores on the way to them.
stats: some of {"entropy", "top_keys", "key_mass"}, or True for all; {"top_keys": 8} says how many
    (default 5). They cost a second pass, in linear memory.

Returns out, of the kind, rank and layout of q; where more is asked for, a Result with .out, .lse,
.weights and .stats. LSE, weights and statistics are f32 (f64 for f64) and (B, H, ...) in every
layout. Ctrl-C stops the call within about a tenth of a second.

Raises ValueError for shapes, types and options that disagree, TypeError for what is no array,
NotImplementedError for what this version cannot serve, MemoryError. `out` is then untouched.

Source: docs/math.md; Vaswani et al. 2017, section 3.2.1; Milakov and Gimelshein 2018 and
Dao et al. 2022 for the sums block by block.)";

constexpr char kExplainDoc[] =
    R"(explain(q, k, v, **options)
--

How `attention` would serve the same arguments: an Explanation, whose str is a page of text.

Takes every argument of `attention`, reads no element and raises what `attention` would.)";

PyMethodDef methods[] = {
    {"attention", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(attention)),
     METH_FASTCALL | METH_KEYWORDS, kAttentionDoc},
    {"explain", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(explain_call)),
     METH_FASTCALL | METH_KEYWORDS, kExplainDoc},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_attention(nb::module_& module) {
  checked(PyModule_AddFunctions(module.ptr(), methods));
}

}  // namespace regard::python
