"""regard.attention beside PyTorch's FlexAttention, run eagerly on the CPU, where both can say the
same: causal, sliding window, prefix, documents, softcap, ALiBi, bias, grouped heads."""
import pytest
from packages import needed

torch = needed("torch")
flex = needed("torch.nn.attention.flex_attention")

import regard  # noqa: E402
from torch_reference import normal  # noqa: E402

HEADS, KV_HEADS, LENGTH, WINDOW, CAP = 4, 2, 67, 9, 3.0
FEW, PREFIX, KV_LEN, STARTS = 5, 20, [LENGTH, 31], [0, 12, 13, 40, LENGTH]
DOCUMENT = torch.arange(len(STARTS) - 1).repeat_interleave(torch.tensor(STARTS).diff())
BIAS = normal(HEADS, LENGTH, LENGTH, seed=3)
SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625])


def causal(_b: object, _h: object, row: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """A mask_mod."""
    return row >= key


def sliding(_b: object, _h: object, row: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """A mask_mod: the row itself and WINDOW keys before it."""
    return (row >= key) & (row - key <= WINDOW)


def bottom_right(_b: object, _h: object, row: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """A mask_mod: the last of FEW rows sees every key."""
    return row + LENGTH - FEW >= key


def prefix(batch: torch.Tensor, _h: object, row: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """A mask_mod: PREFIX keys for all rows, the others causal. Here a mask."""
    return (key < PREFIX) | (row >= key)


def lengths(batch: torch.Tensor, _h: object, _row: object, key: torch.Tensor) -> torch.Tensor:
    """A mask_mod: keys that exist."""
    return key < torch.tensor(KV_LEN)[batch]


def documents(_b: object, _h: object, row: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """A mask_mod: causal within each of the packed documents."""
    return (DOCUMENT[row] == DOCUMENT[key]) & (row >= key)


def softcap(score: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
    """A score_mod."""
    return CAP * torch.tanh(score / CAP)


def alibi(score: torch.Tensor, _b: torch.Tensor, head: torch.Tensor, row: torch.Tensor,
          key: torch.Tensor) -> torch.Tensor:
    """A score_mod."""
    return score - SLOPES[head] * (row - key).abs()


def alibi_softcap(score: torch.Tensor, *where: torch.Tensor) -> torch.Tensor:
    """A score_mod: the cap comes first, as in regard."""
    return alibi(softcap(score), *where)


def relative(score: torch.Tensor, _b: torch.Tensor, head: torch.Tensor, row: torch.Tensor,
             key: torch.Tensor) -> torch.Tensor:
    """A score_mod: a table of biases."""
    return score + BIAS[head, row, key]


# name: score_mod, mask_mod, the same for regard
CASES = {
    "plain": (None, None, {}),
    "causal": (None, causal, {"causal": "top_left"}),
    "window": (None, sliding, {"causal": "top_left", "window": (WINDOW, 0)}),
    "softcap": (softcap, None, {"softcap": CAP}),
    "softcap, causal": (softcap, causal, {"softcap": CAP, "causal": "top_left"}),
    "alibi, causal": (alibi, causal, {"alibi_slopes": SLOPES, "causal": "top_left"}),
    "alibi, softcap": (alibi_softcap, None, {"alibi_slopes": SLOPES, "softcap": CAP}),
    "bias, window": (relative, sliding,
                     {"bias": BIAS, "causal": "top_left", "window": (WINDOW, 0)}),
    "prefix": (None, prefix, {"mask": (torch.arange(LENGTH) < PREFIX)
                              | torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()}),
    "lengths": (None, lengths, {"kv_len": KV_LEN}),
    "scale": (None, None, {"scale": 0.3}),
}


pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")


def inputs(rows: int, kv_heads: int, batch: int = 2) -> tuple[torch.Tensor, ...]:
    k, v = (normal(batch, kv_heads, LENGTH, 32, seed=n) for n in (1, 2))
    return normal(batch, HEADS, rows, 32), k, v


def theirs(given: tuple[torch.Tensor, ...], score_mod: object, mask_mod: object, **options: object
           ) -> object:
    q, k, _ = given
    sizes = (q.shape[0], None, q.shape[2], k.shape[2])
    block = mask_mod and flex.create_block_mask(mask_mod, *sizes, device="cpu")
    return flex.flex_attention(*given, score_mod=score_mod, block_mask=block,
                               enable_gqa=q.shape[1] != k.shape[1], **options)


def same(found: torch.Tensor, expected: torch.Tensor) -> None:
    """1e-5: either is off by at most 40 units of f32 here, 2.4e-6, at answers below 4."""
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kv_heads", (HEADS, KV_HEADS))
def test_same_answer(name: str, kv_heads: int) -> None:
    score_mod, mask_mod, options = CASES[name]
    given = inputs(LENGTH, kv_heads)
    scale = {"scale": options["scale"]} if "scale" in options else {}
    same(regard.attention(*given, **options), theirs(given, score_mod, mask_mod, **scale))


def test_few_rows() -> None:
    given = inputs(FEW, KV_HEADS)
    same(regard.attention(*given, causal="bottom_right"), theirs(given, None, bottom_right))
    same(regard.attention(*given, causal="top_left"), theirs(given, None, causal))


@pytest.mark.parametrize("name", ["softcap", None])
def test_documents_are_packed_sequences(name: str | None) -> None:
    given = inputs(LENGTH, KV_HEADS, batch=1)
    found = regard.attention_varlen(*given, STARTS, causal="top_left",
                                    softcap=CAP if name else None)
    same(found, theirs(given, softcap if name else None, documents))


def test_lse_and_rows_that_see_nothing() -> None:
    """Both give 0 and -inf there."""
    given = inputs(LENGTH, KV_HEADS)
    out, extra = theirs(given, None, lambda _b, _h, row, key: (row >= key) & (row != 3),
                        return_aux=flex.AuxRequest(lse=True))
    mask = torch.arange(LENGTH)[:, None] != 3
    found = regard.attention(*given, causal="top_left", mask=mask, return_lse=True)
    same(found.out, out)
    assert not found.out[:, :, 3].any() and torch.isneginf(found.lse[:, :, 3]).all()
    torch.testing.assert_close(found.lse, extra.lse, rtol=0, atol=1e-5)
