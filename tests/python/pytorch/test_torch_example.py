"""The PyTorch example runs and prints what it is about."""
import pathlib
import re
import subprocess
import sys

EXAMPLE = pathlib.Path(__file__).resolve().parents[3] / "examples" / "python" / "torch_drop_in.py"


def test_drop_in() -> None:
    """Both differences are roundings of f32."""
    run = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, timeout=300,
                         check=False)
    assert run.returncode == 0, run.stderr
    differences = [float(number) for number in re.findall(r"difference (\S+)", run.stdout)]
    assert len(differences) == 2
    assert max(differences) < 1e-5
