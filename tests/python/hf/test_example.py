"""The example runs, and says what it promises."""

from __future__ import annotations

import pathlib
import runpy

import pytest
import torch

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples" / "python"


def test_hugging_face(capsys: pytest.CaptureFixture[str]) -> None:
    with torch.enable_grad():  # as in a fresh interpreter
        runpy.run_path(str(EXAMPLES / "hugging_face.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "weights of the last layer (2, 8, 6, 6)" in printed
    assert "eager attention gives the same tokens" in printed
