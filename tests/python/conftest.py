"""The folder tests/python/torch is no package torch: without PyTorch `import torch` has to fail."""
import importlib.util
import sys

_found = importlib.util.find_spec("torch")
if _found is None or _found.origin is None:
    sys.modules["torch"] = None  # type: ignore[assignment]
