"""Arguments that no call has, of wrong types, too few or too many: one sentence that says which."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import regard
from regard import lab, oracle

Q = np.ones((1, 2, 4, 8), np.float32)
SOME = np.ones(3)  # has no truth value


def made(**change: Any) -> regard.KVCache:
    return regard.KVCache(**({"kv_heads": 2, "k_head_size": 8, "pages": 4} | change))


OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"kv_heads": "2"}, "kv_heads: '2' is no integer"),
    ({"k_head_size": 8.0}, "k_head_size: 8.0 is no integer"),
    ({"v_head_size": "8"}, "v_head_size: '8' is no integer"),
    ({"pages": None}, "pages: None is no integer"),
    ({"pages": [4]}, "pages: [4] is no integer"),
    ({"page_tokens": "64"}, "page_tokens: '64' is no integer"),
    ({"window": (1, 0)}, "window: (1, 0) is no integer"),
    ({"keep_first": 1.5}, "keep_first: 1.5 is no integer"),
    ({"spare": "x"}, "spare: 'x' is no integer"),
    ({"k_type": 8}, "k_type: 8 is none of f32, f16, bf16"),
    ({"v_type": b"f16"}, "v_type: b'f16' is none of f32, f16, bf16"),
    ({"speed": 1}, "KVCache() got an unexpected keyword argument 'speed'"),
    ({"num_kv_heads": 1}, "'num_kv_heads'; did you mean 'kv_heads'?"),
    ({"head_size": 1}, "'head_size'; did you mean 'v_head_size'?"),
    ({"\ud800": 1}, "KVCache() got an unexpected keyword argument '\\ud800'"),
]


@pytest.mark.parametrize("change, sentence", OPTIONS, ids=[repr(case[0]) for case in OPTIONS])
def test_options_of_a_cache(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(TypeError) as raised:
        made(**change)
    assert sentence in str(raised.value) and "\n" not in str(raised.value)


def test_values_that_no_option_of_a_cache_has() -> None:
    for change, sentence in (({"k_head_size": 2**70}, "k_head_size: 1180591620717411303424 does"),
                             ({"k_type": "int9"}, "k_type: 'int9' is none of f32, f16, bf16"),
                             ({"v_type": "\ud800"}, "v_type: '\\ud800' is none of f32")):
        with pytest.raises(ValueError) as raised:
            made(**change)
        assert str(raised.value).startswith(sentence)


def test_none_is_the_same_as_absent() -> None:
    absent = dict.fromkeys(("v_head_size", "k_type", "v_type", "page_tokens", "window",
                            "keep_first", "spare"))
    assert repr(made(**absent)) == repr(made())
    assert made(kv_heads=np.int64(2)).kv_heads == 2


METHODS: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("add", (1,), {}, "add() takes 0 positional arguments but 1 was given"),
    ("fork", (), {}, "fork() missing required argument 'sequence'"),
    ("fork", (0, 0), {}, "fork() takes 1 positional argument but 2 were given"),
    ("fork", (), {"seq": 0}, "fork() got an unexpected keyword argument 'seq'"),
    ("remove", (), {}, "remove() missing required argument 'sequence'"),
    ("trim", (0,), {}, "trim() missing required argument 'length'"),
    ("trim", (0, 2.5), {}, "length: 2.5 is no integer"),
    ("trim", (0, 2), {"length": 2}, "trim() got multiple values for argument 'length'"),
    ("append", (0, Q[0]), {}, "append() missing required argument 'v'"),
    ("append", (0, Q[0], Q[0], "bhsd"), {}, "append() takes 3 positional arguments but 4 were"),
    ("append", (0, Q[0], [1.0]), {}, "v: 'list' is no array"),
    ("append", (0, Q[0], Q[0]), {"layout": 3}, "layout: 3 is none of 'bhsd', 'bshd'"),
    ("append", (0, Q[0], Q[0]), {"layouts": 3}, "'layouts'; did you mean 'layout'?"),
    ("gather", (), {}, "gather() missing required argument 'sequence'"),
    ("gather", (0, 0, 1, 2), {}, "gather() takes 3 positional arguments but 4 were given"),
    ("gather", (0,), {"out": 3}, "out: 3 is no pair of arrays (k, v)"),
    ("gather", (0,), {"out": (Q, 3)}, "out[1]: 'int' is no array"),
    ("gather", (0,), {"outs": 1}, "'outs'; did you mean 'out'?"),
    ("length", (0, 1), {}, "length() takes 1 positional argument but 2 were given"),
    ("length", (), {"sequences": 0}, "'sequences'; did you mean 'sequence'?"),
    ("held_from", (), {}, "held_from() missing required argument 'sequence'"),
]


@pytest.mark.parametrize("name, values, words, sentence", METHODS,
                         ids=[f"{case[0]}-{n}" for n, case in enumerate(METHODS)])
def test_methods_of_a_cache(name: str, values: Any, words: Any, sentence: str) -> None:
    cache = made(k_type="f32")
    cache.append(cache.add(), Q[0], Q[0])
    with pytest.raises(TypeError) as raised:
        getattr(cache, name)(*values, **words)
    assert sentence in str(raised.value) and "\n" not in str(raised.value)
    assert cache.length(0) == 4
    assert np.array_equal(cache.gather(0)[0], Q[0])


def test_a_cache_takes_what_its_signatures_say() -> None:
    signature = inspect.signature(made().append)
    assert str(signature) == "(sequence, k, v, *, layout='bhsd')"
    with pytest.raises(TypeError, match="'length' for 'KVCache' objects"):
        regard.KVCache.length(3, 0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="KVCache: this one was never made"):
        regard.KVCache.__new__(regard.KVCache).add()


REST = [
    (lambda: regard.merge(3), "parts: 3 is no sequence of results"),
    (lambda: regard.merge(None), "parts: None is no sequence of results"),
    (lambda: regard.report_kv(Q, Q, Q, "int8", sequences=[0]), "sequences: given without"),
    (lambda: regard.check(Q, Q, Q, Q, find_convention=SOME), "find_convention: array([1."),
    (lambda: oracle.attention(Q, Q, Q, return_lse=SOME), "return_lse: array([1., 1., 1.])"),
    (lambda: regard.attention(Q, Q, Q, return_lse=SOME), "return_lse: array([1., 1., 1.])"),
    (lambda: regard.attention(Q, Q, Q, stats={"entropy": SOME}), "stats: array([1., 1., 1.])"),
    (lambda: lab.causal_attention(3, Q, Q, Q), "x: 3 is no array"),
    (lambda: lab.block_attention("a", Q, Q, 2), "q: 'a' is no array of numbers"),
    (lambda: lab.block_attention(Q, Q, Q, 1.5), "block: 1.5 is no integer"),
    (lambda: lab.plain_attention(Q, [[1], [2, 3]], Q), "k: [[1], [2, 3]] is no array of numbers"),
    (lambda: lab.entropy("a"), "weights: 'a' is no array of numbers"),
]


@pytest.mark.parametrize("call, sentence", REST, ids=[case[1].split(":")[0] for case in REST])
def test_other_functions(call: Any, sentence: str) -> None:
    with pytest.raises(TypeError) as raised:
        call()
    assert str(raised.value).startswith(sentence)


def test_words_that_are_no_text() -> None:
    with pytest.raises(ValueError, match="types: '.ud800' is none of f32"):
        regard.report_kv(Q, Q, Q, "\ud800")
