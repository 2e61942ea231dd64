"""Masks of transformers 5 as offsets, windows and lengths, where their pattern allows it.

transformers describes a mask by a Python function of (batch, head, row, key) put together from a
few known ones. `attention_mask` reads how it was put together; a function it does not know becomes
a dense bool mask, by transformers' own code.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_map
from transformers import masking_utils


@dataclasses.dataclass(frozen=True)
class Pattern:
    """Which keys a row sees. Keys are numbered as they lie in memory; row i has position
    i + q_offset. All that is given must allow a pair."""

    shape: tuple[int, int, int, int]
    """(B, 1, Sq, Skv)."""
    causal: bool = False
    window: tuple[int, int] | None = None
    """Keys seen to the left and right of the position, -1 unlimited."""
    q_offset: int = 0
    kv_len: tuple[int, ...] | None = None
    """Keys that exist, of each batch entry: padding on the right."""
    keys: torch.Tensor | None = None
    """(B, 1, 1, Skv) bool, false where no row may look: any other padding."""
    sequence: torch.Tensor | None = None
    """(B, S) integers that never fall: rows see keys of equal number alone. Sq = Skv = S."""

    def options(self) -> dict[str, Any]:
        """The pattern, `sequence` apart, under the names of `regard.attention`."""
        options: dict[str, Any] = {"causal": "top_left" if self.causal else "none"}
        if self.q_offset:
            options["q_offset"] = self.q_offset
        if self.window is not None:
            options["window"] = self.window
        if self.kv_len is not None:
            options["kv_len"] = list(self.kv_len)
        if self.keys is not None:
            options["mask"] = self.keys
        return options

    def sequences(self) -> list[list[tuple[int, int]]]:
        """Of each batch entry, where its packed sequences begin and end."""
        found = []
        for numbers in self.sequence:
            _, counts = torch.unique_consecutive(numbers, return_counts=True)
            ends = [0, *counts.cumsum(0).tolist()]
            found.append(list(zip(ends, ends[1:])))
        return found

    def dense(self) -> torch.Tensor:
        """(B, 1, Sq, Skv) bool, true where the row sees the key."""
        batch, _, rows, keys = self.shape
        key = torch.arange(keys)
        distance = key - (torch.arange(rows) + self.q_offset)[:, None]
        seen = torch.ones(self.shape, dtype=torch.bool)
        if self.causal:
            seen &= distance <= 0
        left, right = self.window or (-1, -1)
        if left >= 0:
            seen &= distance >= -left
        if right >= 0:
            seen &= distance <= right
        if self.kv_len is not None:
            seen &= key < torch.tensor(self.kv_len).view(batch, 1, 1, 1)
        if self.keys is not None:
            seen &= self.keys
        if self.sequence is not None:
            seen &= (self.sequence[:, :, None] == self.sequence[:, None, :])[:, None]
        return seen


_TENSOR = torch.Tensor
_ABOUT_SHAPE = {
    _TENSOR.size, _TENSOR.dim, _TENSOR.is_floating_point, _TENSOR.__len__,
    _TENSOR.untyped_storage,
    *(getattr(_TENSOR, name).__get__ for name in
      ("shape", "ndim", "dtype", "device", "layout", "requires_grad", "is_sparse", "is_nested")),
}  # fmt: skip


class CompactMask(torch.Tensor):
    """A `Pattern` that passes through models as a bool tensor (B, 1, Sq, Skv) of one byte.

    Questions about its shape and type are answered as they are; any other operation of torch, such
    as a slice or a sum of masks, works on the dense mask and gives ordinary tensors.
    """

    pattern: Pattern

    @classmethod
    def of(cls, pattern: Pattern) -> CompactMask:
        mask = torch.ones((), dtype=torch.bool).expand(pattern.shape).as_subclass(cls)
        mask.pattern = pattern
        return mask

    @classmethod
    def __torch_function__(
        cls, function: Callable, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if function in _ABOUT_SHAPE:
            with torch._C.DisableTorchFunctionSubclass():
                return function(*args, **kwargs)
        args, kwargs = tree_map(
            lambda x: x.pattern.dense() if isinstance(x, CompactMask) else x, (args, kwargs)
        )
        return function(*args, **kwargs)


def _captured(function: Callable) -> dict[str, Any]:
    """What a nested function took from the one around it."""
    cells = function.__closure__ or ()
    return dict(zip(function.__code__.co_freevars, (cell.cell_contents for cell in cells)))


def recognise(function: Callable) -> dict[str, Any] | None:
    """`causal`, `window` and `sequence` of a mask function put together from transformers' own;
    None for any other."""
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
        packed = known.pop("needs_sequence", False)
        if packed == ("sequence" in known) and not (packed and attention_mask is not None):
            known |= _padding(attention_mask, kv_length, kv_offset)
            shape = (batch_size, 1, q_length, kv_length)
            return CompactMask.of(Pattern(shape, q_offset=int(q_offset) - kv_offset, **known))
    rest |= {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
    return masking_utils.sdpa_mask(
        batch_size, q_length, kv_length, q_offset, kv_offset, mask_function, attention_mask, **rest
    )
