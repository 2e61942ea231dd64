#!/usr/bin/env bash
# package_test.sh WORK VERSION: installs a shared library below WORK, moves it, builds consumers in
# C++ and C against it, runs them, and checks which symbols the library exports. The C one is built
# with CMake, with pkg-config, and with pkg-config against a static library.
set -euo pipefail
work=$1 version=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..

# expect PROGRAM: it says what it should.
expect() {
  local said
  said=$("$1")
  echo "$(basename "$1"): $said"
  if [[ $said != "regard $version: 2 3" ]]; then
    echo "expected: regard $version: 2 3"
    exit 1
  fi
}

# install KIND SHARED: the library, moved after its installation to $work/KIND.
install() {
  # One ISA is enough: what is exported and how it is found does not depend on the others.
  cmake -G Ninja -S "$root" -B "$work/library_$1" -DCMAKE_BUILD_TYPE=Release \
    -DBUILD_SHARED_LIBS="$2" -DREGARD_ISAS=generic -DREGARD_BUILD_CLI=OFF \
    -DCMAKE_INSTALL_LIBDIR=lib >/dev/null
  cmake --build "$work/library_$1"
  rm -rf "$work/first" "${work:?}/$1"
  cmake --install "$work/library_$1" --prefix "$work/first" >/dev/null
  mv "$work/first" "$work/$1"
}

# consume NAME: a CMake project that finds the shared library.
consume() {
  rm -rf "${work:?}/$1"
  cmake -G Ninja -S "$here/$1" -B "$work/$1" -DCMAKE_PREFIX_PATH="$work/shared" >/dev/null
  cmake --build "$work/$1"
  expect "$work/$1/$1"
}

# consume_pc KIND OPTION...: the C consumer by hand, as pkg-config says.
consume_pc() {
  local flags
  export PKG_CONFIG_PATH=$work/$1/lib/pkgconfig
  read -ra flags < <(pkg-config --cflags --libs "${@:2}" regard)
  "${CC:-cc}" -std=c99 -Wall -Wextra -pedantic -Werror "$here/consumer_c/main.c" \
    -o "$work/consumer_pc_$1" "${flags[@]}" -Wl,-rpath,"$work/$1/lib"
  expect "$work/consumer_pc_$1"
}

install shared ON
python3 "$root/tools/check_symbols.py" --shared "$work/shared/lib/libregard.so"
consume consumer
consume consumer_c
if command -v pkg-config >/dev/null; then
  consume_pc shared
  install static OFF
  consume_pc static --static
else
  echo "pkg-config is not here: its part is left out"
fi
