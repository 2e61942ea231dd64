"""PyTorch: scaled_dot_product_attention in inference mode. Its CPU kernel for dense input without
gradients is a fused one."""
import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

from problem import Call, Problem

NAME = "PyTorch"


def version() -> str:
    """Of the package, without the build."""
    return torch.__version__.split("+")[0]


def tensor(array: np.ndarray, dtype: str) -> torch.Tensor:
    """The same memory."""
    if dtype == "bf16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def stored(out: torch.Tensor) -> np.ndarray:
    """The answer in NumPy's memory."""
    if out.dtype == torch.bfloat16:
        return out.contiguous().view(torch.int16).numpy().view(np.uint16)
    return out.numpy()


def prepare(problem: Problem) -> list[Call]:
    """Key heads that are shared are expanded without a copy, or left to PyTorch."""
    case = problem.case
    torch.set_num_threads(problem.threads)
    torch.set_float32_matmul_precision("highest")
    torch.inference_mode().__enter__()
    q, k, v = (tensor(array, case.dtype) for array in problem.arrays)
    mask = "is_causal" if case.causal else "no mask"

    def call(form: str, keys: torch.Tensor, values: torch.Tensor, **more: bool) -> Call:
        return Call(form, lambda: scaled_dot_product_attention(
            q, keys, values, is_causal=case.causal, **more), stored)

    if case.heads == case.kv_heads:
        return [call(mask, k, v)]
    group = case.heads // case.kv_heads
    wide = [t[:, :, None].expand(-1, -1, group, -1, -1).flatten(1, 2) for t in (k, v)]
    return [call(f"{mask}, enable_gqa", k, v, enable_gqa=True),
            call(f"{mask}, heads repeated beforehand", *wide)]
