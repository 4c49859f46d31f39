#!/usr/bin/env bash
# Installs what is missing, builds everything and runs the tests, all or those that ctest's options choose:
# run.sh -L fast (seconds), -LE slow, -R sim. COSMO_STRICT=1 makes warnings of the compiler errors, as CI does.
set -euo pipefail
cd "$(dirname "$0")/.."
. pipelines/setup.sh
packages+=("${test_packages[@]}")
install_packages
build release -DBUILD_TESTING=ON ${COSMO_STRICT:+-DCMAKE_COMPILE_WARNING_AS_ERROR=ON}
# Tests wait for each other's ranks and for the disk: three tests per core at once keep the cores busy.
ctest --preset release --no-tests=error -j $((3 * $(nproc))) "$@"
