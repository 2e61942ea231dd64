#!/usr/bin/env bash
# package_test.sh WORK VERSION: installs a shared library below WORK, moves it, builds the consumer
# against it, runs that, and checks which symbols the library exports.
set -euo pipefail
work=$1 version=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..

# One ISA is enough: what is exported and how it is found does not depend on the others.
cmake -G Ninja -S "$root" -B "$work/library" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON \
  -DREGARD_ISAS=generic -DREGARD_BUILD_CLI=OFF -DCMAKE_INSTALL_LIBDIR=lib >/dev/null
cmake --build "$work/library"
rm -rf "$work/first" "$work/moved" "$work/consumer"
cmake --install "$work/library" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/moved"

python3 "$root/tools/check_symbols.py" --shared "$work/moved/lib/libregard.so"

cmake -G Ninja -S "$here/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$work/moved" >/dev/null
cmake --build "$work/consumer"
said=$("$work/consumer/consumer")
echo "$said"
if [[ $said != "regard $version: 2 3" ]]; then
  echo "expected: regard $version: 2 3"
  exit 1
fi
