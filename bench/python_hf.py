#!/usr/bin/env python3
"""A Llama of transformers with `attn_implementation="regard"` beside "sdpa" and "eager".

    python bench/python_hf.py                                  # f32, 1024 tokens, torch's threads
    python bench/python_hf.py --dtype bfloat16 --tokens 4096 --threads 2

8 layers of 16 heads, 4 KV heads, head size 64, with random weights. The three take turns: a prompt,
then tokens one by one over the cache; the least time of the prompts and the median of the tokens
count. Logits of the prompt are compared with eager's first. Exit code 1: they differ."""
import argparse
import statistics
import sys
import time

import torch
import transformers
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

import regard.hf

KINDS = ("sdpa", "regard", "eager")
# Of logits of a few units: f32's sums, and bf16's rounding of every layer.
TOLERANCE = {"float32": 1e-4, "bfloat16": 0.25}


def model(dtype: torch.dtype) -> LlamaForCausalLM:
    """Random weights, the same in every run."""
    torch.manual_seed(0)
    config = LlamaConfig(hidden_size=1024, intermediate_size=2816, num_hidden_layers=8,
                         num_attention_heads=16, num_key_value_heads=4, vocab_size=4000,
                         max_position_embeddings=1 << 17)
    return LlamaForCausalLM(config).eval().to(dtype)


def timed(llama: LlamaForCausalLM, prompt: torch.Tensor, count: int) -> tuple[float, list[float]]:
    """Seconds of the prompt, and of each of `count` tokens after it."""
    cache = DynamicCache(config=llama.config)
    start = time.perf_counter()
    result = llama(prompt, cache=cache, use_cache=True)
    first = time.perf_counter() - start
    seconds = []
    for _ in range(count):
        start = time.perf_counter()
        result = llama(result.logits[:, -1:].argmax(-1), cache=cache, use_cache=True)
        seconds.append(time.perf_counter() - start)
    return first, seconds


def main() -> int:
    """Compares, measures, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtype", choices=TOLERANCE, default="float32")
    parser.add_argument("--tokens", type=int, default=1024, help="of the prompt")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    regard.hf.register()
    llama = model(getattr(torch, given.dtype))
    prompt = torch.randint(0, 4000, (1, given.tokens))
    prompts: dict[str, list[float]] = {kind: [] for kind in KINDS}
    tokens: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with torch.inference_mode():
        llama.set_attn_implementation("eager")
        right = llama(prompt[:, :256]).logits
        for kind in KINDS:
            llama.set_attn_implementation(kind)
            error = float((llama(prompt[:, :256]).logits - right).abs().max())
            if not error <= TOLERANCE[given.dtype]:
                print(f"{kind}: logits differ from eager's by {error:.3g}")
                return 1
        for _ in range(given.turns):
            for kind in KINDS:
                llama.set_attn_implementation(kind)
                first, rest = timed(llama, prompt, 20)
                prompts[kind].append(first)
                tokens[kind] += rest
    print(f"{regard.info().cpu}, {given.dtype}, {given.tokens} tokens, {given.threads} threads, "
          f"PyTorch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}, "
          f"regard {regard.__version__}")
    for kind in KINDS:
        print(f"{kind:8} prompt {min(prompts[kind]):8.3f} s   token "
              f"{1e3 * statistics.median(tokens[kind]):8.2f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
