"""Which keys a row sees, as offsets, windows, lengths and ranges, and the mask that carries it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_map


@dataclasses.dataclass(frozen=True)
class Sequences:
    """Rows and keys of a batch, its entries one behind another, cut into N ranges each: rows of
    range n see keys of range n alone. Positions and keys count from the start of a range."""

    q_starts: tuple[int, ...]
    """N + 1 numbers from 0 to B Sq that never fall."""
    kv_starts: tuple[int, ...]
    """N + 1 numbers from 0 to B Skv that never fall."""
    q_offsets: tuple[int, ...] | None = None
    """The N positions of each range's first row; None: all 0."""

    def rows(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Of each row, (B Sq): its range and its position."""
        return _places(self.q_starts, self.q_offsets)

    def keys(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Of each key, (B Skv): its range and its number there."""
        return _places(self.kv_starts, None)


def _places(
    starts: tuple[int, ...], offsets: tuple[int, ...] | None
) -> tuple[torch.Tensor, torch.Tensor]:
    first = torch.tensor(starts)
    number = torch.repeat_interleave(torch.arange(len(starts) - 1), first.diff())
    shift = first[:-1] if offsets is None else first[:-1] - torch.tensor(offsets)
    return number, torch.arange(starts[-1]) - shift[number]


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
    sequences: Sequences | None = None
    """Ranges that stay apart. `q_offset`, `kv_len` and `keys` are then absent."""

    def options(self) -> dict[str, Any]:
        """The pattern under the names of `regard.attention`; sequences become a dense mask."""
        if self.sequences is not None:
            return {"causal": "none", "mask": self.dense()}
        options = self._order()
        if self.q_offset:
            options["q_offset"] = self.q_offset
        if self.kv_len is not None:
            options["kv_len"] = list(self.kv_len)
        if self.keys is not None:
            options["mask"] = self.keys
        return options

    def varlen_options(self) -> dict[str, Any]:
        """A pattern of sequences under the names of `regard.attention_varlen`."""
        options = self._order()
        options["q_starts"] = self.sequences.q_starts
        options["kv_starts"] = self.sequences.kv_starts
        if self.sequences.q_offsets is not None:
            options["q_offset"] = self.sequences.q_offsets
        return options

    def _order(self) -> dict[str, Any]:
        options: dict[str, Any] = {"causal": "top_left" if self.causal else "none"}
        if self.window is not None:
            options["window"] = self.window
        return options

    def dense(self) -> torch.Tensor:
        """(B, 1, Sq, Skv) bool, true where the row sees the key."""
        batch, _, rows, keys = self.shape
        seen = torch.ones(self.shape, dtype=torch.bool)
        if self.sequences is not None:
            range_of_row, position = self.sequences.rows()
            range_of_key, key = self.sequences.keys()
            distance = key.view(batch, 1, 1, keys) - position.view(batch, 1, rows, 1)
            seen &= range_of_key.view(batch, 1, 1, keys) == range_of_row.view(batch, 1, rows, 1)
        else:
            distance = torch.arange(keys) - (torch.arange(rows) + self.q_offset)[:, None]
        if self.causal:
            seen &= distance <= 0
        left, right = self.window or (-1, -1)
        if left >= 0:
            seen &= distance >= -left
        if right >= 0:
            seen &= distance <= right
        if self.kv_len is not None:
            seen &= torch.arange(keys) < torch.tensor(self.kv_len).view(batch, 1, 1, 1)
        if self.keys is not None:
            seen &= self.keys
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
        if function is _TENSOR.contiguous:  # what `generate` asks of masks of a static cache
            return args[0]
        args, kwargs = tree_map(
            lambda x: x.pattern.dense() if isinstance(x, CompactMask) else x, (args, kwargs)
        )
        return function(*args, **kwargs)
