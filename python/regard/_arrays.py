"""Types of arrays, for checkers and editors: results are of the kind of q."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, Union

import numpy.typing as npt

if TYPE_CHECKING:
    from typing_extensions import Buffer


class SupportsDLPack(Protocol):
    """torch.Tensor, jax.Array and others whose memory the CPU can read."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...


Kept = Union[SupportsDLPack, npt.NDArray[Any]]
"""Arrays whose kind results have."""
Array = Union[Kept, "Buffer"]
"""What is read. Elements are float64, float32, float16 or bfloat16, those of a mask bool."""
ArrayT = TypeVar("ArrayT", bound=Kept)
OutT = TypeVar("OutT", bound=Kept)
FloatName = Literal["float64", "float32", "float16", "bfloat16", "f64", "f32", "f16", "bf16"]
FloatType = Union[FloatName, Any]
"""A name, or a dtype of NumPy, ml_dtypes, torch or JAX."""
