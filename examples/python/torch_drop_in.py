"""A PyTorch model takes its attention from regard, without a change to the model."""
import torch
from torch import nn
from torch.nn import functional

import regard.torch


class Block(nn.Module):
    """Causal self-attention with two query heads for each key head."""

    def __init__(self, size: int = 64, heads: int = 4, kv_heads: int = 2) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.head_size = heads, kv_heads, size // heads
        self.project = nn.Linear(size, (heads + 2 * kv_heads) * self.head_size)
        self.back = nn.Linear(size, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, S, size) to the same. Heads are views of the projection: nothing is copied."""
        heads = self.project(x).unflatten(-1, (-1, self.head_size)).transpose(1, 2)
        q, k, v = heads.split((self.heads, self.kv_heads, self.kv_heads), dim=1)
        out = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.back(out.transpose(1, 2).flatten(2))


torch.manual_seed(0)
model = nn.Sequential(Block(), Block()).eval()
x = torch.randn(2, 200, 64)
with torch.no_grad():
    before = model(x)
    with regard.torch.replace_sdpa():
        after = model(x)
    q = torch.randn(1, 8, 200, 64)
    same = regard.torch.scaled_dot_product_attention(q, q, q, is_causal=True)
    torchs = functional.scaled_dot_product_attention(q, q, q, is_causal=True)
print(f"model: largest difference {(after - before).abs().max():.1e}")
print(f"call:  largest difference {(same - torchs).abs().max():.1e}")
