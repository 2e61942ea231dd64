"""Masks of transformers 5 as offsets, windows and lengths, where their pattern allows it.

transformers describes a mask by a Python function of (batch, head, row, key) put together from a
few known ones. `attention_mask` reads how it was put together; a function it does not know becomes
a dense bool mask, by transformers' own code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from transformers import masking_utils

from regard._hf_chunks import chunk_options
from regard._hf_pattern import CompactMask, Pattern, Sequences

__all__ = ["attention_mask", "recognise"]


def _captured(function: Callable) -> dict[str, Any]:
    """What a nested function took from the one around it."""
    cells = function.__closure__ or ()
    return dict(zip(function.__code__.co_freevars, (cell.cell_contents for cell in cells)))


def recognise(function: Callable) -> dict[str, Any] | None:
    """`causal`, `window`, `chunk` and `sequence` of a mask function put together from
    transformers' own; None for any other."""
    if getattr(function, "__module__", None) != masking_utils.__name__:
        return None
    if function is masking_utils.causal_mask_function:
        return {"causal": True}
    if function is masking_utils.bidirectional_mask_function:
        return {}
    captured = _captured(function)
    match function.__qualname__.split(".")[0]:
        case "sliding_window_overlay":
            return {"window": (captured["sliding_window"] - 1, -1)}
        case "sliding_window_bidirectional_overlay":
            return {"window": (captured["sliding_window"],) * 2}
        case "chunked_overlay":
            return {"chunk": (captured["chunk_size"], captured["left_padding"].tolist())}
        case "packed_sequence_mask_function":
            return {"sequence": captured["packed_sequence_mask"]}
        case "remap_positions_for_packed_sequence":  # distances within a sequence stay as they are
            inner = recognise(captured["mask_function"])
            return None if inner is None else {**inner, "needs_sequence": True}
        case "and_masks":
            return _all_of([recognise(f) for f in captured["mask_functions"]])
    return None


def _all_of(parts: list[dict[str, Any] | None]) -> dict[str, Any] | None:
    """The parts in one, if all are known and no two of them limit the same thing."""
    if None in parts or sum(map(len, parts)) > len(set().union(*parts)):
        return None
    return {name: value for part in parts for name, value in part.items()}


def _padding(
    attention_mask: torch.Tensor | None, kv_length: int, kv_offset: int
) -> dict[str, Any]:
    """`kv_len`, or else `keys`, of transformers' (B, tokens) mask; nothing where all are seen."""
    if attention_mask is None:
        return {}
    padded = masking_utils.prepare_padding_mask(attention_mask.bool(), kv_length, kv_offset)
    seen = padded[:, kv_offset : kv_offset + kv_length]
    if seen.all():
        return {}
    lengths = seen.sum(1)
    if torch.equal(seen, torch.arange(kv_length) < lengths[:, None]):
        return {"kv_len": tuple(lengths.tolist())}
    return {"keys": seen[:, None, None, :]}


def _packed(numbers: torch.Tensor) -> Sequences:
    """Ranges where (B, S) integers stay the same; Sq = Skv = S."""
    first = torch.ones_like(numbers, dtype=torch.bool)
    first[:, 1:] = numbers[:, 1:] != numbers[:, :-1]
    starts = (*first.flatten().nonzero().flatten().tolist(), numbers.numel())
    return Sequences(starts, starts)


def _compact(
    known: dict[str, Any], shape: tuple[int, int, int, int], offsets: tuple[int, int],
    attention_mask: torch.Tensor | None,
) -> Pattern | None:  # fmt: skip
    """The pattern of what `recognise` found, if it has one."""
    q_offset, kv_offset = offsets
    packed, chunk = known.pop("needs_sequence", False), known.pop("chunk", None)
    if packed != ("sequence" in known) or (packed and (chunk or attention_mask is not None)):
        return None
    if packed:
        return Pattern(shape, sequences=_packed(known.pop("sequence")), **known)
    padding = _padding(attention_mask, shape[3], kv_offset)
    if chunk is None:
        return Pattern(shape, q_offset=q_offset - kv_offset, **known, **padding)
    if known != {"causal": True}:
        return None
    size, left = chunk
    found = chunk_options(shape, q_offset - kv_offset, size, [n - kv_offset for n in left], padding)
    return None if found is None else Pattern(shape, causal=True, **found)


def attention_mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: int | torch.Tensor = 0,
    kv_offset: int = 0,
    mask_function: Callable = masking_utils.causal_mask_function,
    attention_mask: torch.Tensor | None = None,
    **rest: Any,
) -> torch.Tensor:
    """transformers' mask interface: a `CompactMask`, or a dense bool mask (B, 1, Sq, Skv).

    Arguments as for `transformers.masking_utils.sdpa_mask`: row i is token i + q_offset, key j is
    token j + kv_offset, and attention_mask (B, tokens) is true for tokens that exist.
    """
    known = None if torch.compiler.is_compiling() else recognise(mask_function)
    if known is not None:
        shape = (batch_size, 1, q_length, kv_length)
        pattern = _compact(known, shape, (int(q_offset), kv_offset), attention_mask)
        if pattern is not None:
            return CompactMask.of(pattern)
    rest |= {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
    return masking_utils.sdpa_mask(
        batch_size, q_length, kv_length, q_offset, kv_offset, mask_function, attention_mask, **rest
    )
