"""Causal attention of NumPy arrays, in five lines."""
import numpy as np
import regard

q, k, v = np.random.default_rng(0).standard_normal((3, 1, 8, 256, 64), dtype=np.float32)
out = regard.attention(q, k, v, causal="top_left")  # (1, 8, 256, 64), f32 as q is
print(out.shape, out.dtype, regard.check(q, k, v, out, causal="top_left"), sep="\n")
