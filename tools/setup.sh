# Sourced by run and test: which Debian packages each needs, and quiet configuring and building of
# the trees that CMakePresets.json describes. Sets `root`; expects set -euo pipefail.
# shellcheck shell=bash disable=SC2034
packages_build=(g++ cmake ninja-build libcli11-dev libfmt-dev nlohmann-json3-dev libzip-dev
                libpthreadpool-dev)
packages_test=("${packages_build[@]}" libgtest-dev librapidcheck-dev patch python3 python3-venv
               python3-dev)
packages_lint=("${packages_test[@]}" clang-format-14 clang-tidy-14 git shellcheck)
packages_aarch64=(g++ cmake ninja-build nlohmann-json3-dev python3 g++-aarch64-linux-gnu
                  libc6-dev-arm64-cross googletest qemu-user)
packages_long=("${packages_test[@]}" "${packages_aarch64[@]}" clang-14 libclang-rt-14-dev valgrind)

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

# extra NAME: the requirements of `pip install .[NAME]`, a line each.
extra() {
  sed -n "s/^$1 = \[\(.*\)\]\$/\1/p" "$root/pyproject.toml" | tr -d '" ' | tr , '\n'
}

# From PyPI, into build/python-venv: what ./test needs, then what --all adds. PyTorch is installed
# without its dependencies, which are gigabytes of CUDA; pip_torch names the others.
mapfile -t pip_test < <(printf '%s\n' numpy nanobind && extra test)
mapfile -t pip_hf < <(extra hf | grep -v ^torch)
mapfile -t pip_jax < <(extra jax)
pip_torch=(filelock fsspec jinja2 networkx 'setuptools>=77.0.3' sympy typing_extensions)

# quiet MESSAGE COMMAND...: shows the message; what the command printed only if it fails.
quiet() {
  local message=$1 log=$root/build/last.log status=0
  shift
  mkdir -p "$root/build"
  echo "$message" >&2
  "$@" >"$log" 2>&1 </dev/null || status=$?
  ((status == 0)) || cat "$log" >&2
  return "$status"
}

# need_packages NAME...: installs what is missing, or names it in one line and stops with code 2.
need_packages() {
  local installed missing=() name as_root=()
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null) || true
  for name; do
    grep -qxF "$name installed" <<<"$installed" || missing+=("$name")
  done
  ((${#missing[@]})) || return 0
  ((EUID == 0)) || as_root=(sudo -n)
  if ! command -v apt-get >/dev/null || ! "${as_root[@]}" true 2>/dev/null; then
    echo "install these first: apt-get install ${missing[*]}" >&2
    exit 2
  fi
  local get=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y -qq
             -o DPkg::Lock::Timeout=300)
  quiet "updating the list of packages ..." "${get[@]}" update || true
  if ! quiet "installing ${missing[*]} ..." "${get[@]}" install --no-install-recommends \
       "${missing[@]}"; then
    echo "install these first: apt-get install ${missing[*]}" >&2
    exit 2
  fi
}

# configure PRESET [-DNAME=VALUE...]
configure() {
  (cd "$root" && quiet "configuring build/$1 ..." cmake --preset "$@")
}

# build PRESET [TARGET...]: says nothing when it is done within a second, as when all is built.
build() {
  local tree=$root/build/$1
  shift
  if timeout --foreground 1 ninja -C "$tree" "$@" &>/dev/null </dev/null; then return; fi
  quiet "building ${tree#"$root/"} (the first time takes minutes) ..." ninja --quiet -C "$tree" "$@"
}

# python_packages NAME...: installs from PyPI what build/python-venv lacks; fails where it cannot.
python_packages() {
  local venv=$root/build/python-venv
  local stamp
  stamp=$venv/installed-$(cksum <<<"$*" | cut -d' ' -f1)
  [[ ! -f $stamp ]] || return 0
  if [[ ! -x $venv/bin/python ]]; then
    quiet "making build/python-venv ..." python3 -m venv "$venv" || return
  fi
  quiet "installing ${*##-*} from PyPI ..." "$venv/bin/python" -m pip install --quiet \
    --disable-pip-version-check "$@" || return
  touch "$stamp"
}

# python_torch: PyTorch, and for its CUDA libraries a stub that finds no device.
python_torch() {
  local venv=$root/build/python-venv
  python_packages --no-deps "$(extra torch)" && python_packages "${pip_torch[@]}" || return
  "$venv/bin/python" -c 'import torch' 2>/dev/null ||
    "$venv/bin/python" "$root/bench/peers/cuda_stubs.py" \
      "$(echo "$venv"/lib/python3*/site-packages/torch/lib)"
}
