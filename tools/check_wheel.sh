#!/usr/bin/env bash
# Shows that a wheel works where there is nothing but Python and NumPy: check_wheel.sh WHEEL
# What it holds and needs, an example with each ISA of this CPU, and one on a plain x86-64 by qemu,
# if that is installed. Makes build/wheel-check.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
wheel=$(realpath "$1") check=$root/build/wheel-check
example=$root/examples/python/numpy_five_lines.py

# venv NAME REQUIREMENT: a new one, with the requirement and the wheel.
venv() {
  python3 -m venv "$check/$1"
  "$check/$1/bin/python" -m pip install --quiet --disable-pip-version-check "$2" "$wheel"
}

# passes NAME COMMAND...: the example, run by the command, finds its result right.
passes() {
  local said
  said=$(cd "$check" && "${@:2}" "$example" 2>&1) || true
  if ! grep -q '^PASS' <<<"$said"; then
    echo "$1: FAILED"$'\n'"$said" >&2
    exit 1
  fi
  echo "$1: right"
}

rm -rf "$check"
mkdir -p "$check"
held=$(python3 -m zipfile -l "$wheel")
for name in regard/py.typed regard/_core.pyi /LICENSE /NOTICE nanobind.txt pthreadpool.txt; do
  grep -qF -- "$name" <<<"$held" || { echo "the wheel lacks $name" >&2; exit 1; }
done

venv current numpy
needed=$(readelf -d "$check"/current/lib/python3*/site-packages/regard/_core*.so |
  sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
if grep -E 'stdc\+\+|libgcc_s|gomp|omp' <<<"$needed"; then
  echo "the module needs what a machine may not have" >&2
  exit 1
fi
echo "needs: ${needed//$'\n'/ }"
for isa in generic avx2 avx512 avx512_bf16 amx; do
  report=$(cd "$check" && REGARD_ISA=$isa current/bin/python -c '
import numpy, regard
q = numpy.ones((4, 8), "f4")
print(regard.explain(q, q, q).isa)' 2>&1) || report=none
  [[ ${report##*$'\n'} == "$isa" ]] || { echo "$isa: not on this CPU"; continue; }
  passes "$isa" env REGARD_ISA="$isa" current/bin/python
done

# NumPy 2 asks for SSE4.2 itself; 1.26 runs on any x86-64, as regard does.
if command -v qemu-x86_64 >/dev/null && venv plain 'numpy<2' 2>/dev/null; then
  passes "x86-64 without AVX (qemu64)" \
    env PYTHONPATH="$(echo "$check"/plain/lib/python3*/site-packages)" \
    qemu-x86_64 -cpu qemu64 "$(realpath "$check/plain/bin/python")"
else
  echo "x86-64 without AVX: not tried, there is no qemu-x86_64 or no NumPy 1 for this Python"
fi
