// Attention of PyTorch's tensors without linking PyTorch: their memory is read through the exchange
// table of DLPack, in a tenth of the time that `__dlpack__` takes. Serves what needs no
// broadcasting of q, k and v; the module regard.torch makes views of the rest and checks what is
// refused.
#pragma once

#include <nanobind/nanobind.h>

namespace regard::python {

/// Adds `torch_load(tensor, parameter, empty_like)`, to be called once with torch.Tensor,
/// torch.nn.Parameter and torch.empty_like (ImportError where the type has no exchange table), and
///
///   torch_attention(query, key, value, attn_mask, out, is_causal, scale, enable_gqa, gradients)
///
/// which gives the output, or None where the tensors are not all of PyTorch's own class, on the
/// CPU, of one rank from 2 to 4, one type and one batch, with as many heads each (with enable_gqa:
/// a divisor); where `gradients` is true and one of them needs them; or where `out` is None and
/// values are not as long as queries. Raises ValueError with the engine's sentence.
void add_torch(nanobind::module_& module);

}  // namespace regard::python
