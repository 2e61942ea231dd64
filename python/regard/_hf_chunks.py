"""Chunked attention, as of Llama 4: a row sees the keys of its own chunk, up to itself.

Tokens are cut into chunks of one size, counted from the first token that is no padding on the left.
One chunk is causal attention; one row has a lowest key; else rows and keys of a chunk are ranges of
a packed batch.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import torch

from regard._hf_pattern import Sequences


def chunk_options(
    shape: tuple[int, int, int, int], q_offset: int, size: int, left: list[int],
    padding: dict[str, Any],
) -> dict[str, Any] | None:  # fmt: skip
    """What a `Pattern` of causal chunks has beside `causal`; None where it cannot say it.

    shape is (B, 1, Sq, Skv), row i has position i + q_offset and entry b has its first chunk begin
    at key left[b]. padding is the pattern's `kv_len` or `keys`, or neither.
    """
    batch, _, rows, keys = shape
    seen = torch.ones(batch, keys, dtype=torch.bool)
    if "keys" in padding:
        seen = padding["keys"][:, 0, 0]
    elif "kv_len" in padding:
        seen = torch.arange(keys) < torch.tensor(padding["kv_len"])[:, None]
    if any(seen[b, : max(begin, 0)].any() for b, begin in enumerate(left)):
        return None  # what lies on the left is no padding
    if all(q_offset + rows - 1 - begin < size for begin in left):
        return {"q_offset": q_offset, **padding}
    if rows == 1:
        lowest = [max(n + (q_offset - n) // size * size, 0) for n in left]
        if len(set(lowest)) == 1:
            return {"q_offset": q_offset, "window": (q_offset - lowest[0], -1), **padding}
        above = torch.arange(keys) >= torch.tensor(lowest)[:, None]
        return {"q_offset": q_offset, "keys": (seen & above)[:, None, None]}
    ranges: list[tuple[int, int, int]] = []
    for b, begin in enumerate(left):
        exist = seen[b].nonzero().flatten().tolist()
        first, end = (exist[0], exist[-1] + 1) if exist else (0, 0)
        if end - first != len(exist):
            return None
        ranges += _ranges((rows, keys), q_offset, (size, begin), (first, end))
    q_lengths, kv_lengths, offsets = zip(*ranges)
    starts = (tuple(accumulate(n, initial=0)) for n in (q_lengths, kv_lengths))
    return {"sequences": Sequences(*starts, offsets)}


def _ranges(
    lengths: tuple[int, int], q_offset: int, chunks: tuple[int, int], exist: tuple[int, int]
) -> list[tuple[int, int, int]]:
    """(rows, keys, position of the first row) of each range of one entry of `lengths` rows and
    keys, with chunks of (size, begin of one). Keys that no row sees are ranges without rows."""
    rows, keys = lengths
    size, begin = chunks
    found = []
    row = key = 0
    while row < rows:
        position = q_offset + row
        chunk = begin + (position - begin) // size * size
        end_row = min(rows, chunk + size - q_offset)
        low = min(max(chunk, exist[0], key), keys)
        high = max(min(chunk + size, exist[1]), low)
        if low > key:
            found.append((0, low - key, 0))
        found.append((end_row - row, high - low, position - low if high > low else 0))
        row, key = end_row, high
    if key < keys:
        found.append((0, keys - key, 0))
    return found
