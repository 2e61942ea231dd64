"""regard.attention beside PyTorch's FlexAttention, run eagerly on the CPU, where both can say the
same: causal, sliding window, softcap, ALiBi, grouped heads."""
import pytest

torch = pytest.importorskip("torch")
flex = pytest.importorskip("torch.nn.attention.flex_attention")

import regard  # noqa: E402
from torch_reference import normal  # noqa: E402

HEADS, KV_HEADS, LENGTH, WINDOW, CAP = 4, 2, 67, 9, 3.0
SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625])


def causal(_b: object, _h: object, row: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """A mask_mod."""
    return row >= key


def sliding(_b: object, _h: object, row: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """A mask_mod: the row itself and WINDOW keys before it."""
    return (row >= key) & (row - key <= WINDOW)


def softcap(score: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
    """A score_mod."""
    return CAP * torch.tanh(score / CAP)


def alibi(score: torch.Tensor, _b: torch.Tensor, head: torch.Tensor, row: torch.Tensor,
          key: torch.Tensor) -> torch.Tensor:
    """A score_mod."""
    return score - SLOPES[head] * (row - key).abs()


# name: score_mod, mask_mod, the same for regard
CASES = {
    "plain": (None, None, {}),
    "causal": (None, causal, {"causal": "top_left"}),
    "window": (None, sliding, {"causal": "top_left", "window": (WINDOW, 0)}),
    "softcap": (softcap, None, {"softcap": CAP}),
    "softcap, causal": (softcap, causal, {"softcap": CAP, "causal": "top_left"}),
    "alibi, causal": (alibi, causal, {"alibi_slopes": SLOPES, "causal": "top_left"}),
}


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kv_heads", (HEADS, KV_HEADS))
def test_same_answer(name: str, kv_heads: int) -> None:
    """1e-5: either is off by at most 40 units of f32 here, 2.4e-6, at answers below 4."""
    score_mod, mask_mod, options = CASES[name]
    q = normal(2, HEADS, LENGTH, 32)
    k, v = (normal(2, kv_heads, LENGTH, 32, seed=n) for n in (1, 2))
    block = mask_mod and flex.create_block_mask(mask_mod, None, None, LENGTH, LENGTH, device="cpu")
    theirs = flex.flex_attention(q, k, v, score_mod=score_mod, block_mask=block,
                                 enable_gqa=kv_heads != HEADS)
    torch.testing.assert_close(regard.attention(q, k, v, **options), theirs, rtol=0, atol=1e-5)
