#!/usr/bin/env bash
# Installs what is missing, builds everything and runs the tests: all but those of ctest's label slow; with COSMO_ALL=1, as CI
# does, all; with options of ctest, those that they choose: run.sh -L fast (seconds), -L slow, -R sim. The ten longest are
# printed before ctest's closing lines. COSMO_STRICT=1 makes warnings of the compiler errors, as CI does.
set -euo pipefail
case ${1:-} in
  -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
esac
cd "$(dirname "$0")/.."
. pipelines/setup.sh
packages+=("${test_packages[@]}")
install_packages
build release -DBUILD_TESTING=ON ${COSMO_STRICT:+-DCMAKE_COMPILE_WARNING_AS_ERROR=ON}
[ $# -gt 0 ] || [ -n "${COSMO_ALL-}" ] || set -- -LE '^slow$'
# Tests wait for each other's ranks and for the disk: three tests per core at once keep the cores busy.
ctest --preset release --no-tests=error -j $((3 * $(nproc))) "$@" | python3 tests/longest.py
