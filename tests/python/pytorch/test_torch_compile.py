"""Tracing and transforming: torch.compile in one graph, the operator itself, vmap, export, and what
is refused there."""
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from regard.torch import scaled_dot_product_attention
from torch_reference import assert_right, heads_inside, normal

Q, K, V = normal(2, 6, 5, 8), normal(2, 3, 7, 8, seed=1), normal(2, 3, 7, 4, seed=2)
OPERATOR = torch.ops.regard.sdpa


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """With work before and after, for the compiler to plan around."""
    return scaled_dot_product_attention(q * 2, k, v, is_causal=True, enable_gqa=True) + 1


@pytest.fixture(autouse=True)
def _fresh_compiler() -> None:
    torch.compiler.reset()


@pytest.mark.parametrize("backend", ("eager", "aot_eager", "inductor"))
@pytest.mark.parametrize("layout", ("bhsd", "bshd"))
def test_compile_in_one_graph(backend: str, layout: str) -> None:
    """fullgraph: a break would raise."""
    q = heads_inside(Q) if layout == "bshd" else Q
    try:
        out = torch.compile(attend, fullgraph=True, backend=backend)(q, K, V)
    except Exception as error:  # noqa: BLE001
        if backend == "inductor" and "InvalidCxxCompiler" in repr(error):
            pytest.skip("inductor finds no C++ compiler")
        raise
    torch.testing.assert_close(out, attend(q, K, V), rtol=0, atol=0)


def test_compile_with_lengths_that_change() -> None:
    """One graph for many lengths."""
    compiled = torch.compile(attend, fullgraph=True, backend="aot_eager", dynamic=True)
    for length in (5, 9, 31):
        q = normal(2, 6, length, 8)
        torch.testing.assert_close(compiled(q, K, V), attend(q, K, V), rtol=0, atol=0)


def test_graph_holds_the_operator() -> None:
    """Not a break, and not torch's own attention."""
    seen = []

    def backend(graph: torch.fx.GraphModule, _: list[torch.Tensor]) -> torch.fx.GraphModule:
        seen.extend(node.target for node in graph.graph.nodes)
        return graph

    torch.compile(attend, fullgraph=True, backend=backend)(Q, K, V)
    assert any("regard" in str(target) for target in seen)


@pytest.mark.parametrize("options", ((None, False, None, True), (None, True, 0.5, True),
                                     (torch.ones(5, 7, dtype=torch.bool), False, None, True)))
def test_operator_keeps_torchs_rules(options: tuple[object, ...]) -> None:
    """Schema, fake against real shapes and strides, tracing: torch's own checks."""
    torch.library.opcheck(OPERATOR, (Q, K, V, *options), test_utils=(
        "test_schema", "test_faketensor", "test_autograd_registration"))


def test_fake_tensors_compute_nothing() -> None:
    """Shape, type and strides only."""
    real = (heads_inside(Q), K, normal(2, 3, 7, 8))
    with torch._subclasses.FakeTensorMode() as mode:
        q, k, v = map(mode.from_tensor, real)
        out = scaled_dot_product_attention(q, k, v, enable_gqa=True)
    assert isinstance(out, torch._subclasses.FakeTensor)
    assert out.stride() == q.stride()


def test_export() -> None:
    """The exported program gives the same numbers."""
    class Model(torch.nn.Module):
        """Attention alone."""

        def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            """Grouped and causal."""
            return attend(q, k, v)

    with torch.no_grad():
        program = torch.export.export(Model(), (Q, K, V))
    torch.testing.assert_close(program.module()(Q, K, V), attend(Q, K, V), rtol=0, atol=0)


def test_dispatch_modes_see_the_operator() -> None:
    """What counts or records operators is not passed by."""
    class Seen(torch.utils._python_dispatch.TorchDispatchMode):
        """Names of operators."""

        names: list[str] = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
            self.names.append(str(func))
            return func(*args, **(kwargs or {}))

    with Seen():
        out = attend(Q, K, V)
    assert any(name.startswith("regard.sdpa") for name in Seen.names)
    torch.testing.assert_close(out, attend(Q, K, V), rtol=0, atol=0)
    with FlopCounterMode(display=False):
        attend(Q, K, V)


@pytest.mark.parametrize("in_dims", ((0, 0, 0), (0, None, None), (None, 0, 0), (1, 0, 1)))
@pytest.mark.parametrize("rank", (2, 3, 4))
def test_vmap(in_dims: tuple[int | None, ...], rank: int) -> None:
    """One call with one more axis gives what a loop gives."""
    shapes = ((2, 3, 5, 8)[-rank:], (2, 3, 7, 8)[-rank:], (2, 3, 7, 4)[-rank:])
    tensors = []
    for n, (shape, axis) in enumerate(zip(shapes, in_dims)):
        full = list(shape)
        if axis is not None:
            full.insert(axis, 4)
        tensors.append(normal(*full, seed=n))
    out = torch.vmap(scaled_dot_product_attention, in_dims=in_dims)(*tensors)
    for n in range(4):
        one = [t if axis is None else t.select(axis, n) for t, axis in zip(tensors, in_dims)]
        assert_right(out[n], *one)


def test_vmap_over_masks() -> None:
    """A mask for each, the rest shared."""
    masks = normal(4, 5, 7, seed=3) > 0
    q, k, v = Q[:, :3], K, V
    out = torch.vmap(lambda m: scaled_dot_product_attention(q, k, v, m))(masks)
    for n in range(4):
        assert_right(out[n], q, k, v, masks[n])


@pytest.mark.parametrize("transform", ("grad", "jvp", "dual"))
def test_derivatives_are_refused(transform: str) -> None:
    """Forward mode too."""
    def total(q: torch.Tensor) -> torch.Tensor:
        return attend(q, K, V).sum()

    with pytest.raises(NotImplementedError, match="no backward|no forward-mode"):
        if transform == "grad":
            torch.func.grad(total)(Q)
        elif transform == "jvp":
            torch.func.jvp(total, (Q,), (Q,))
        else:
            with torch.autograd.forward_ad.dual_level():
                total(torch.autograd.forward_ad.make_dual(Q, Q))


@pytest.mark.parametrize("backend", ("eager", "aot_eager"))
def test_compiled_gradients_are_refused(backend: str) -> None:
    """With the same sentence inside."""
    with pytest.raises(Exception, match="no backward yet"):
        torch.compile(attend, fullgraph=True, backend=backend)(Q.clone().requires_grad_(), K, V)


def test_compiled_dropout_is_refused() -> None:
    """It does not fall back to torch's attention."""
    def drop(q: torch.Tensor) -> torch.Tensor:
        return scaled_dot_product_attention(q, q, q, dropout_p=0.1)

    with pytest.raises(Exception, match="dropout"):
        torch.compile(drop, fullgraph=True, backend="eager")(Q)
