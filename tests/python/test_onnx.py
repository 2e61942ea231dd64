"""Every node test of ONNX's operator Attention, as the installed package `onnx` holds them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from packages import needed

onnx = needed("onnx")

from onnx.backend.test.case.node import collect_testcases  # noqa: E402

import onnx_adapter  # noqa: E402

# Node tests by version of the package: none may go missing.
KNOWN_COUNTS = {"1.23": 93}

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of casts in the package's other operators
    CASES = [c for c in collect_testcases("Attention") if not c.name.endswith("_expanded")]


def tolerance(dtype: np.dtype, rtol: float) -> float:
    """ONNX's own: the case's rtol, and two units in the last place of bfloat16."""
    return max(rtol, 2.0**-6) if dtype.name == "bfloat16" else rtol


def run_node(model: onnx.ModelProto, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """The outputs that the model's only node names, in their order."""
    (node,) = model.graph.node
    given = iter(inputs)
    arguments = [next(given) if name else None for name in node.input]
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    outputs = onnx_adapter.attention(*arguments, **attributes)
    return [value for name, value in zip(node.output, outputs) if name]


def test_no_case_is_missing() -> None:
    version = ".".join(onnx.__version__.split(".")[:2])
    assert len({c.name for c in CASES}) == len(CASES) >= 93
    assert len(CASES) == KNOWN_COUNTS.get(version, len(CASES)), f"onnx {onnx.__version__}"
    opsets = {i.version for c in CASES for i in c.model.opset_import if i.domain == ""}
    assert opsets >= {23, 24, 25}


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_node(case) -> None:
    for inputs, expected in case.data_sets:
        outputs = run_node(case.model, inputs)
        assert len(outputs) == len(expected)
        for ours, theirs in zip(outputs, expected):
            assert ours.shape == theirs.shape
            assert ours.dtype == theirs.dtype
            rtol = tolerance(ours.dtype, case.rtol)
            np.testing.assert_allclose(
                ours.astype(np.float64), theirs.astype(np.float64), rtol=rtol, atol=case.atol
            )
