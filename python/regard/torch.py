"""PyTorch's scaled_dot_product_attention on the engine, for tensors on the CPU.

`scaled_dot_product_attention` has the signature and the meaning of the function of the same name in
torch.nn.functional. Eager calls read the tensors' memory directly; under torch.compile, torch.func
and whatever else traces or wraps tensors the operator `torch.ops.regard.sdpa` stands in the graph.
"""
from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.nn import functional

from regard import _core

__all__ = ["replace_sdpa", "scaled_dot_product_attention"]

_core.torch_load(torch.Tensor, torch.nn.Parameter, torch.empty_like)
_call = _core.torch_attention
_is_compiling = torch.compiler.is_compiling
_is_autocast = torch.is_autocast_enabled
_is_grad_enabled = torch.is_grad_enabled
_is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor
_function_modes = torch._C._len_torch_function_stack
_dispatch_modes = torch._C._len_torch_dispatch_stack
_tracing_state = torch._C._get_tracing_state

NO_BACKWARD = ("one of them needs gradients, and regard has no backward yet; call it under "
               "torch.no_grad()")
_NO_GRADIENT = "query, key, value, attn_mask: " + NO_BACKWARD


def scaled_dot_product_attention(
        query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
        attn_mask: torch.Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False, *,
        scale: float | None = None, enable_gqa: bool = False) -> torch.Tensor:
    """softmax(scale query key' + attn_mask) value, with torch's own meaning of every argument.

    query (..., Hq, L, E), key (..., H, S, E), value (..., H, S, Ev), at least 2-D, of one type:
    float64, float32, float16 or bfloat16. Axes before the last two broadcast. Memory is read in
    place at any strides, except that axes before the fourth from the end are copied where no view
    can merge them.

    attn_mask: bool (True: the row sees the key), or float32 or query's type, added to the scores;
        at least 2-D, broadcast against (..., Hq, L, S).
    dropout_p: only 0 is served.
    is_causal: row i sees the keys j <= i ("top_left"), also where L differs from S; not together
        with attn_mask.
    scale: absent 1/sqrt(E).
    enable_gqa: query head h reads key and value head floor(h H / Hq), without copies unless key and
        value differ in H.

    Returns (..., Hq, L, Ev) of query's type, laid out like query where the shapes agree (up to
    4-D), else dense. A row that sees no key gives 0, as in torch on the CPU. Threads are
    torch.get_num_threads(). Differs from torch.nn.functional in that numbers at hidden places are
    not read, so that NaN there does no harm, and that E = 0 is refused.

    Errors: TypeError for what is no tensor or of a wrong type, ValueError for shapes that
    disagree, NotImplementedError for gradients, dropout and other devices.
    """
    if dropout_p != 0.0:
        raise NotImplementedError(f"dropout_p: {dropout_p} is not 0, and regard has no dropout")
    if is_causal and attn_mask is not None:
        raise ValueError("attn_mask: it is given beside is_causal=True; one of them at most")
    if _is_autocast("cpu"):
        query, key, value, attn_mask = _autocast(query, key, value, attn_mask)
    if _is_compiling():
        return _operator(query, key, value, attn_mask, is_causal, scale, enable_gqa)
    if not (_function_modes() or _dispatch_modes() or _tracing_state()
            or forward_ad._current_level >= 0):
        out = _call(query, key, value, attn_mask, None, is_causal, scale, enable_gqa,
                    _is_grad_enabled())
        if out is not None:
            return out
    return _general(query, key, value, attn_mask, is_causal, scale, enable_gqa)


def _general(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
             attn_mask: torch.Tensor | None, is_causal: bool, scale: float | None,
             enable_gqa: bool) -> torch.Tensor:
    """What the quick way does not serve: other classes, modes, shapes to broadcast, errors."""
    tensors = (query, key, value) if attn_mask is None else (query, key, value, attn_mask)
    if torch.overrides.has_torch_function(tensors):
        return torch.overrides.handle_torch_function(
            scaled_dot_product_attention, tensors, query, key, value, attn_mask,
            is_causal=is_causal, scale=scale, enable_gqa=enable_gqa)
    _require_tensors(query, key, value, attn_mask)
    if _is_grad_enabled() and any(t.requires_grad for t in tensors):
        raise NotImplementedError(_NO_GRADIENT)
    if forward_ad._current_level >= 0 and any(
            forward_ad.unpack_dual(t).tangent is not None for t in tensors):
        raise NotImplementedError(_NO_GRADIENT.replace("backward", "forward-mode derivative"))
    if (_dispatch_modes() or _tracing_state()
            or any(_is_wrapped(t) or t.is_meta or not _is_plain(t) for t in tensors)):
        return _operator(query, key, value, attn_mask, is_causal, scale, enable_gqa)
    return _compute(query, key, value, attn_mask, is_causal, scale, enable_gqa)


@contextlib.contextmanager
def replace_sdpa() -> Iterator[None]:
    """While the block runs, torch.nn.functional.scaled_dot_product_attention is regard's.

    Modules that look the function up when they call it take regard's, torch.nn.functional's own
    included; a name bound before (`from torch.nn.functional import ...`) and the fused inference
    paths of torch.nn.MultiheadAttention and TransformerEncoderLayer are not reached. There is no
    silent way back: what regard refuses raises. Blocks may nest, and the last one to end restores
    torch's function, also after an exception. The swap is seen by all threads of the process.
    """
    with _lock:
        _replaced.append(functional.scaled_dot_product_attention)
        functional.scaled_dot_product_attention = scaled_dot_product_attention
    try:
        yield
    finally:
        with _lock:
            original = _replaced.pop()
            if not _replaced:
                functional.scaled_dot_product_attention = original


_lock = threading.Lock()
_replaced: list[Callable[..., torch.Tensor]] = []
"""What each open block found, in whatever thread: torch's own first, then regard's."""


def _autocast(*tensors: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
    """What torch's autocast does to the arguments: floats but float64 take its type."""
    dtype = torch.get_autocast_dtype("cpu")
    return tuple(t.to(dtype) if isinstance(t, torch.Tensor) and t.is_floating_point()
                 and t.dtype != torch.float64 else t for t in tensors)


def _is_plain(tensor: torch.Tensor) -> bool:
    return type(tensor) in (torch.Tensor, torch.nn.Parameter)


def _require_tensors(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
                     attn_mask: torch.Tensor | None) -> None:
    """Refuses what has the wrong class, device, layout or type, with a sentence."""
    named = {"query": query, "key": key, "value": value, "attn_mask": attn_mask}
    for name, tensor in named.items():
        if tensor is None and name == "attn_mask":
            continue
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name}: {type(tensor).__name__} is not a torch.Tensor")
        if tensor.device.type not in ("cpu", "meta"):
            raise NotImplementedError(f"{name}: device {tensor.device} is not the CPU")
        if tensor.layout != torch.strided or tensor.is_nested:
            raise TypeError(f"{name}: it is sparse or nested, not a strided tensor")
        if tensor.dim() < 2:
            raise ValueError(f"{name}: {tensor.dim()} axes, it must have at least 2")
        if name == "attn_mask":
            if tensor.dtype not in (torch.bool, torch.float32, query.dtype):
                raise TypeError(f"attn_mask: dtype {tensor.dtype} is neither bool, float32 nor "
                                f"that of query, {query.dtype}")
        elif tensor.dtype != query.dtype:
            raise TypeError(f"{name}: dtype {tensor.dtype} differs from query's {query.dtype}")
    if query.dtype not in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        raise TypeError(f"query: dtype {query.dtype} is none of float64, float32, float16 and "
                        "bfloat16")


def _broadcast(what: str, *shapes: torch.Size) -> tuple[int, ...]:
    try:
        return tuple(torch.broadcast_shapes(*shapes))
    except RuntimeError:
        texts = ", ".join(str(tuple(shape)) for shape in shapes)
        raise ValueError(f"query, key, value: {what} {texts} do not broadcast") from None


def _batch_shape(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
                 enable_gqa: bool) -> tuple[int, ...]:
    """The output's axes before the last two. Checks all axes of the three."""
    if query.shape[-1] == 0:
        raise ValueError("query: head size 0, it must be at least 1")
    if key.shape[-1] != query.shape[-1]:
        raise ValueError(f"key: head size {key.shape[-1]} differs from query's {query.shape[-1]}")
    if value.shape[-2] != key.shape[-2]:
        raise ValueError(f"value: {value.shape[-2]} keys differ from key's {key.shape[-2]}")
    three = (query, key, value)
    if not enable_gqa:
        return _broadcast("batch shapes", *(t.shape[:-2] for t in three))
    if any(t.dim() < 3 for t in three):
        raise ValueError(f"enable_gqa: tensors of {query.dim()}, {key.dim()} and {value.dim()} "
                         "axes have no heads, they must have at least 3")
    heads = query.shape[-3]
    for name, tensor in {"key": key, "value": value}.items():
        if tensor.shape[-3] == 0 or heads % tensor.shape[-3] != 0:
            raise ValueError(f"{name}: {tensor.shape[-3]} heads do not divide query's {heads}")
    return (*_broadcast("batch shapes", *(t.shape[:-3] for t in three)), heads)


def _empty_output(query: torch.Tensor, value: torch.Tensor,
                  batch: tuple[int, ...]) -> torch.Tensor:
    """The output before it is written: like query where that has its shape."""
    shape = (*batch, query.shape[-2], value.shape[-1])
    if query.dim() <= 4 and tuple(query.shape) == shape:
        return torch.empty_like(query)
    return query.new_empty(shape)


def _four_axes(tensor: torch.Tensor, lead: tuple[int, ...]) -> torch.Tensor:
    """As (B, H, S, D), B the product of `lead`: a view if there is one."""
    if not _is_plain(tensor):
        tensor = tensor.as_subclass(torch.Tensor)
    tensor = tensor.resolve_neg()
    while tensor.dim() < 3:
        tensor = tensor.unsqueeze(0)
    tensor = tensor.expand(*lead, *tensor.shape[-3:])
    return tensor.flatten(0, -4) if lead else tensor.unsqueeze(0)


def _mask_view(mask: torch.Tensor, scores: tuple[int, ...]) -> torch.Tensor:
    """As (1 or B, 1 or H, 1 or L, 1 or S), `scores` being the shape it broadcasts against."""
    while mask.dim() > len(scores) and mask.shape[0] == 1:
        mask = mask.squeeze(0)
    sizes = (1,) * (len(scores) - mask.dim()) + tuple(mask.shape)
    if len(sizes) > len(scores) or any(n not in (1, m) for n, m in zip(sizes, scores)):
        raise ValueError(f"attn_mask: shape {tuple(mask.shape)} does not broadcast to {scores}")
    return _four_axes(mask, scores[:-3])


def _compute(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
             attn_mask: torch.Tensor | None, is_causal: bool, scale: float | None,
             enable_gqa: bool) -> torch.Tensor:
    """Any shapes that torch takes, as views of four axes."""
    _require_tensors(query, key, value, attn_mask)
    batch = _batch_shape(query, key, value, enable_gqa)
    out = _empty_output(query, value, batch)
    lead, heads = batch[:-1], batch[-1:]
    views = [_four_axes(t, lead) for t in (query, key, value)]
    if not enable_gqa and heads:
        views[0] = views[0].expand(-1, *heads, -1, -1)
    if views[1].shape[1] != views[2].shape[1]:
        each = heads[0] if enable_gqa else 1
        views[1:] = [t.repeat_interleave(each // t.shape[1], 1) if enable_gqa
                     else t.expand(-1, *heads, -1, -1) for t in views[1:]]
    if attn_mask is not None:
        attn_mask = _mask_view(attn_mask, (*batch, query.shape[-2], key.shape[-2]))
    if out.numel() > 0 and _call(*views, attn_mask, _four_axes(out, lead), is_causal, scale, True,
                                 False) is None:
        raise TypeError("query, key, value, attn_mask: their memory cannot be read")
    return out


@torch.library.custom_op("regard::sdpa", mutates_args=(), device_types="cpu")
def _operator(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
              attn_mask: torch.Tensor | None, is_causal: bool, scale: float | None,
              enable_gqa: bool) -> torch.Tensor:
    return _compute(query, key, value, attn_mask, is_causal, scale, enable_gqa)


@_operator.register_fake
def _fake(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
          attn_mask: torch.Tensor | None, is_causal: bool, scale: float | None,
          enable_gqa: bool) -> torch.Tensor:
    del is_causal, scale
    _require_tensors(query, key, value, attn_mask)
    batch = _batch_shape(query, key, value, enable_gqa)
    return _empty_output(query, value, batch)


def _refuse_gradients(*_: object, **__: object) -> None:
    raise NotImplementedError(_NO_GRADIENT)


_operator.register_autograd(_refuse_gradients, setup_context=_refuse_gradients)


@_operator.register_vmap
def _batched(info: Any, in_dims: tuple[int | None, ...], query: torch.Tensor,
             key: torch.Tensor, value: torch.Tensor, attn_mask: torch.Tensor | None,
             is_causal: bool, scale: float | None,
             enable_gqa: bool) -> tuple[torch.Tensor, int]:
    """torch.vmap: one more axis in front of all others."""
    if in_dims[0] is None:
        query, in_dims = query.expand(info.batch_size, *query.shape), (0, *in_dims[1:])
    axes = in_dims[:4]
    tensors = [t if axis is None else t.movedim(axis, 0)
               for t, axis in zip((query, key, value, attn_mask), axes)]
    rank = 1 + max(t.dim() - (axis is not None) for t, axis in zip(tensors[:3], axes))
    for n, axis in enumerate(axes):
        if axis is not None:
            while tensors[n].dim() > rank and tensors[n].shape[1] == 1:
                tensors[n] = tensors[n].squeeze(1)
            ones = (1,) * (rank - tensors[n].dim())
            tensors[n] = tensors[n].reshape(tensors[n].shape[0], *ones, *tensors[n].shape[1:])
    return _operator(*tensors, is_causal, scale, enable_gqa), 0
