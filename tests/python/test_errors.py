"""Bad calls: the type of the error, and a sentence that names the argument."""
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import regard

Q = np.ones((1, 2, 4, 8), np.float32)

REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"k": Q[..., :4]}, ValueError, "k: "),
    ({"v": Q[:, :, :3]}, ValueError, "v: "),
    ({"k": Q[0]}, ValueError, "k: rank 3 differs from q's 4"),
    ({"q": Q[0, 0, 0]}, ValueError, "q: rank 1 of shape (8,) is not 2 (S,D)"),
    ({"k": Q.astype(np.float64)}, ValueError, "k: dtype f64"),
    ({"q": Q.astype(np.int32)}, TypeError, "q: elements are int32"),
    ({"q": Q.astype(object)}, TypeError, "q: elements are"),
    ({"q": Q.astype(">f4")}, TypeError, "q: elements are >f4, not float64"),
    ({"q": Q.astype(np.dtype(ml_dtypes.bfloat16).newbyteorder())}, TypeError, "q: elements are"),
    ({"q": Q.astype(np.complex64)}, TypeError, "q: elements are complex64, not float64"),
    ({"q": Q.reshape(9 * (1,) + (8, 8))}, ValueError, "q: 11 axes are more than 8"),
    ({"q": [[1.0]]}, TypeError, "q: 'list' is no array"),
    ({"q": None}, TypeError, "q: None is no array"),
    ({"scale": "a"}, TypeError, "scale: 'a' is no number"),
    ({"scale": float("nan")}, ValueError, "scale: "),
    ({"scale": 10**400}, ValueError, "scale: 1000"),
    ({"scale": np.zeros((40, 40))}, TypeError,
     "scale: array([[0., 0., 0., ..., 0., 0., 0.],... is "),
    ({"softcap": -1}, ValueError, "softcap: "),
    ({"causal": "left"}, ValueError, "causal: 'left' is none of"),
    ({"causal": 1}, TypeError, "causal: 1 is none of"),
    ({"q": Q[:, :, :1], "causal": True}, ValueError, "causal: True could mean two things"),
    ({"window": (1, 2, 3)}, ValueError, "window: 3 numbers"),
    ({"window": (-2, 0)}, ValueError, "window: "),
    ({"window": 0}, ValueError, "window: 0 keys are below 1"),
    ({"window": -(2**63)}, ValueError, "window: -9223372036854775808 keys are below 1"),
    ({"window": "a"}, TypeError, "window: 'str' is no array"),
    ({"mask": np.ones((4, 4), np.float32)}, ValueError, "mask: dtype f32"),
    ({"mask": np.ones((4, 4), np.uint8)}, TypeError, "mask: elements are uint8, not bool"),
    ({"mask": np.ones((3, 4), bool)}, ValueError, "mask: axis 2"),
    ({"mask": np.ones((1, 1, 1, 4, 4), bool)}, ValueError, "mask: rank 5"),
    ({"bias": np.ones(3, np.float32)}, ValueError, "bias: axis 3"),
    ({"sinks": np.ones((1, 2), np.float32)}, ValueError, "sinks: rank 2"),
    ({"alibi_slopes": np.ones(3, np.float32)}, ValueError, "alibi_slopes: "),
    ({"kv_len": [5]}, ValueError, "kv_len"),
    ({"kv_len": 1.5}, TypeError, "kv_len: 1.5 is no integer"),
    ({"kv_len": [1.5]}, TypeError, "kv_len: 1.5 is no integer"),
    ({"q_offset": 2**70}, ValueError, "q_offset: "),
    ({"q_offset": np.array([2**64 - 1], np.uint64)}, ValueError,
     "q_offset: 18446744073709551615 does not fit 64 bits"),
    ({"rows": [4], "return_weights": True}, ValueError, "rows"),
    ({"rows": [], "return_weights": True}, ValueError, "rows: empty"),
    ({"stats": ["entropi"]}, ValueError, "stats: 'entropi' is none of"),
    ({"stats": 5}, TypeError, "stats: 5 is no set of names"),
    ({"stats": {"top_keys": -1}}, ValueError, "top_weights"),
    ({"stats": {"top_keys": 2**62}}, ValueError, "top_weights: 4611686018427387904 top keys"),
    ({"path": "fast"}, ValueError, "path: 'fast' is none of"),
    ({"path": "tiles"}, NotImplementedError, "path"),
    ({"precision": "low"}, ValueError, "precision: 'low' is none of"),
    ({"layout": "bsh"}, ValueError, "layout: 'bsh' is none of"),
    ({"out_dtype": "int8"}, TypeError, "out_dtype: 'int8' is none of"),
    ({"out_dtype": "\ud800"}, TypeError, "out_dtype: '\\ud800' is none of"),
    ({"out": np.empty((1, 2, 4, 7), np.float32)}, ValueError, "out: shape"),
    ({"out": Q[0].copy()}, ValueError, "out: rank 3 differs from q's 4"),
    ({"out": np.empty_like(Q), "out_dtype": "f64"}, ValueError, "out_dtype: f64 differs"),
    ({"out": Q}, ValueError, "out"),
    ({"casual": True}, TypeError,
     "attention() got an unexpected keyword argument 'casual'; did you mean 'causal'?"),
    ({"softmax_scale": 1.0}, TypeError, "'softmax_scale'; did you mean 'scale'?"),
    ({"attn_mask": None}, TypeError, "'attn_mask'; did you mean 'mask'?"),
    ({"window_size": (1, 0)}, TypeError, "'window_size'; did you mean 'window'?"),
    ({"speed": 1}, TypeError, "attention() got an unexpected keyword argument 'speed'"),
]


@pytest.mark.parametrize("change, error, sentence", REFUSED,
                         ids=[next(iter(case[0])) + f"-{n}" for n, case in enumerate(REFUSED)])
def test_refused(change: dict[str, Any], error: type[Exception], sentence: str) -> None:
    out = np.full_like(Q, 3)
    arguments = {"q": Q, "k": Q, "v": Q, "out": out} | change
    if "out_dtype" in change and "out" not in change:
        del arguments["out"]
    with pytest.raises(error) as raised:
        regard.attention(**arguments)
    assert sentence in str(raised.value)
    assert np.all(out == 3)


def test_out_has_to_be_writable() -> None:
    out = np.empty_like(Q)
    out.flags.writeable = False
    with pytest.raises(TypeError, match="out: this 'numpy.ndarray' gives no writable memory"):
        regard.attention(Q, Q, Q, out=out)


def test_addresses_and_strides_that_do_not_fit_elements() -> None:
    odd = np.frombuffer(bytes(4 * 64 + 1), np.uint8)[1:].view(np.float32).reshape(1, 2, 4, 8)
    with pytest.raises(ValueError, match="q: its address is 1 bytes past"):
        regard.attention(odd, Q, Q)
    fields = np.zeros((4, 8), np.dtype([("a", "f4"), ("b", "i1")]))["a"]
    with pytest.raises(ValueError, match="q: the stride of axis"):
        regard.attention(fields, Q[0, 0], Q[0, 0])


class Emptying:
    """An integer that empties the list it is in."""

    def __init__(self, around: list[object]) -> None:
        self.around = around

    def __index__(self) -> int:
        self.around.clear()
        return 0


def test_a_list_may_change_while_it_is_read() -> None:
    lengths: list[object] = []
    lengths += [Emptying(lengths), *range(10_000)]
    np.testing.assert_array_equal(regard.attention(Q, Q, Q, kv_len=lengths), np.zeros_like(Q))


def test_arguments_are_counted_as_python_does() -> None:
    for arguments, words, sentence in (
            ((Q, Q), {}, "missing required argument 'v'"),
            ((Q, Q, Q, Q), {}, "takes 3 positional arguments but 4 were given"),
            ((Q, Q, Q), {"q": Q}, "got multiple values for argument 'q'")):
        with pytest.raises(TypeError) as raised:
            regard.attention(*arguments, **words)
        assert sentence in str(raised.value)


def test_too_large_a_result_is_refused_before_it_is_made() -> None:
    rows = np.broadcast_to(np.float32(1), (1, 1, 2**30, 1))
    with pytest.raises((MemoryError, ValueError)):
        regard.attention(rows, rows, rows, return_weights=True)


def test_explain_refuses_what_attention_does() -> None:
    with pytest.raises(ValueError, match="softcap: "):
        regard.explain(Q, Q, Q, softcap=-1)
    with pytest.raises(TypeError, match=r"explain\(\) got an unexpected"):
        regard.explain(Q, Q, Q, speed=1)
