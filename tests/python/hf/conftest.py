"""Tests of `regard.hf`: nothing is fetched, models are of random weights or inside a package."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from packages import needed

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
torch = needed("torch")
transformers = needed("transformers", minversion="5")

import regard  # noqa: E402
import regard.hf  # noqa: E402


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    regard.hf.register()
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # waking torch's threads takes longer than a tiny model's products
    with torch.no_grad():
        yield
    torch.set_num_threads(threads)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The arguments of every call of the engine, which still happens; "name" says of what."""
    seen: list[dict[str, Any]] = []

    def record(name: str) -> None:
        function = getattr(regard, name)

        def recording(q: Any, k: Any, v: Any, **options: Any) -> Any:
            seen.append({"name": name, "q": q, "k": k, "v": v, **options})
            return function(q, k, v, **options)

        monkeypatch.setattr(regard, name, recording)

    record("attention")
    record("attention_varlen")
    return seen
