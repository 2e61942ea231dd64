"""replace_sdpa: what it reaches, nesting, exceptions, threads."""
import threading

import pytest
import torch
from torch.nn import functional

from regard.torch import replace_sdpa, scaled_dot_product_attention
from torch_reference import normal

TORCHS = functional.scaled_dot_product_attention


def test_swaps_and_restores() -> None:
    """For the duration of the block alone."""
    with replace_sdpa():
        assert functional.scaled_dot_product_attention is scaled_dot_product_attention
    assert functional.scaled_dot_product_attention is TORCHS


def test_restores_after_an_exception() -> None:
    """And the exception goes on."""
    with pytest.raises(KeyError), replace_sdpa():
        raise KeyError
    assert functional.scaled_dot_product_attention is TORCHS


def test_blocks_nest() -> None:
    """The outer block goes on after the inner one."""
    with replace_sdpa():
        with replace_sdpa():
            pass
        assert functional.scaled_dot_product_attention is scaled_dot_product_attention
    assert functional.scaled_dot_product_attention is TORCHS


def test_blocks_of_two_threads_overlap() -> None:
    """The last to end restores, whoever began."""
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with replace_sdpa():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=hold)
    with replace_sdpa():
        thread.start()
        inside.wait()
    assert functional.scaled_dot_product_attention is scaled_dot_product_attention
    leave.set()
    thread.join()
    assert functional.scaled_dot_product_attention is TORCHS


def test_reaches_multihead_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch's own modules look the function up when they call it."""
    module = torch.nn.MultiheadAttention(32, 4, batch_first=True).eval()
    x = normal(2, 9, 32)
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    calls = []
    monkeypatch.setattr("regard.torch._call",
                        lambda *arguments, real=__import__("regard")._core.torch_attention:
                        calls.append(1) or real(*arguments))
    try:
        with torch.no_grad():
            expected = module(x, x, x, need_weights=False)[0]
            assert not calls
            with replace_sdpa():
                out = module(x, x, x, need_weights=False)[0]
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
    assert calls
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-6)


def test_compiled_inside_the_block() -> None:
    """A model compiled in the block has regard's operator in its one graph."""
    torch.compiler.reset()

    def model(q: torch.Tensor) -> torch.Tensor:
        return functional.scaled_dot_product_attention(q, q, q, is_causal=True)

    q = normal(1, 2, 33, 16)
    with replace_sdpa():
        out = torch.compile(model, fullgraph=True, backend="aot_eager")(q)
    torch.testing.assert_close(out, scaled_dot_product_attention(q, q, q, is_causal=True), rtol=0,
                               atol=0)


def test_what_regard_refuses_raises_inside_the_block() -> None:
    """No silent way back to torch's function."""
    q = normal(1, 2, 5, 16).requires_grad_()
    with replace_sdpa(), pytest.raises(NotImplementedError, match="no backward yet"):
        functional.scaled_dot_product_attention(q, q, q)
