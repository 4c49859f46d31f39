#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests.
set -euo pipefail
cd "$(dirname "$0")/.."
. pipelines/setup.sh
packages+=(catch2 python3 python3-h5py python3-numpy python3-onnx python3-torch python3-yt)
install_packages
build release -DBUILD_TESTING=ON -DCMAKE_COMPILE_WARNING_AS_ERROR=ON
ctest --preset release --no-tests=error "$@"
