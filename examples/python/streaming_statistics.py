"""What a long text attends to, in memory that grows with its length and never with its square.

Words come in chunks. Each chunk is appended to a KV cache and its rows attend to all words before
them; a second pass over the whole gives, for each row, the entropy of its weights and its largest
weights, and for each word the weight that falls on it. Weights of 16384 rows as a matrix would be
1 GiB for each head.
"""

from __future__ import annotations

import numpy as np

import regard

TOKENS, CHUNK, HEADS, SIZE = 4096, 512, 2, 32


def embed(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stand-ins for a layer's q, k and v, (heads, tokens, size): topics that change slowly."""
    rng = np.random.default_rng(0)
    topics = np.cumsum(rng.standard_normal((HEADS, count, SIZE), dtype=np.float32), axis=1)
    topics /= np.linalg.norm(topics, axis=-1, keepdims=True) / 4
    noise = rng.standard_normal((2, HEADS, count, SIZE), dtype=np.float32)
    return topics + noise[0], topics + noise[1], noise[0]


def main() -> None:
    q, k, v = embed(TOKENS)
    cache = regard.KVCache(kv_heads=HEADS, k_head_size=SIZE, k_type="f32",
                           pages=TOKENS // 64 + 1)
    text = cache.add()
    outs = []
    for begin in range(0, TOKENS, CHUNK):
        chunk = slice(begin, begin + CHUNK)
        cache.append(text, k[:, chunk], v[:, chunk])
        outs.append(regard.decode(q[:, chunk], cache, text, causal="bottom_right"))
    print(f"{cache.length(text)} tokens in {cache.bytes_used >> 20} MiB of cache")

    result = regard.attention(q, k, v, causal="top_left", stats={"entropy", "top_keys", "key_mass"})
    print("decode in chunks and one call differ by at most "
          f"{np.abs(np.concatenate(outs, axis=1) - result.out).max():.1g}")
    entropy = result.stats.entropy
    for row in (0, TOKENS // 2, TOKENS - 1):
        print(f"row {row:>5}: entropy {entropy[0, row]:5.2f} nats of {np.log(row + 1):5.2f}, "
              f"reads most from token {result.stats.top_keys[0, row, 0]}")
    mass = result.stats.key_mass[0]
    print(f"most read: token {mass.argmax()}, by {mass.max():.1f} rows' worth of weight")


if __name__ == "__main__":
    main()
