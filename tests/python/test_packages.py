"""A package that is missing skips its tests, and fails them where all were asked for."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from packages import needed

TESTS = """
import sys
sys.path.append({folder!r})
from packages import needed
{module_needs}

def test_of_it() -> None:
    assert needed({package!r}).__name__ == {package!r}
"""


def run(folder: pathlib.Path, package: str, all_asked_for: bool, at_module: bool) -> str:
    needs = f"needed({package!r})" if at_module else ""
    text = TESTS.format(folder=str(pathlib.Path(__file__).parent), package=package,
                        module_needs=needs)
    (folder / "test_it.py").write_text(text)
    environment = {name: value for name, value in os.environ.items() if name != "REGARD_TEST_ALL"}
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"],
        cwd=folder, env=environment | ({"REGARD_TEST_ALL": "1"} if all_asked_for else {}),
        capture_output=True, text=True, check=False)
    return found.stdout


@pytest.mark.parametrize("at_module", [False, True])
def test_a_missing_package(tmp_path: pathlib.Path, at_module: bool) -> None:
    assert "1 skipped" in run(tmp_path, "no_such_package", False, at_module)
    said = run(tmp_path, "no_such_package", True, at_module)
    assert said.splitlines()[-1].startswith("1 error" if at_module else "1 failed")
    assert "ImportError: all tests were asked for, but could not import 'no_such_package'" in said


def test_a_package_that_is_there(tmp_path: pathlib.Path) -> None:
    for all_asked_for in (False, True):
        assert "1 passed" in run(tmp_path, "numpy", all_asked_for, True)


def test_a_package_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REGARD_TEST_ALL", raising=False)
    with pytest.raises(pytest.skip.Exception):
        needed("numpy", minversion="1000")
    monkeypatch.setenv("REGARD_TEST_ALL", "1")
    with pytest.raises(ImportError, match="module 'numpy' has __version__"):
        needed("numpy", minversion="1000")
