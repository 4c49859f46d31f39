#!/usr/bin/env bash
# The whole pipeline at a small scale: installs what is missing, builds the four tools, simulates 128 universes,
# cuts them into samples, trains a network on 88 and predicts the parameters of 32 that it has never seen.
# Usage: quickstart.sh [OUTPUT_DIRECTORY]   (default: quickstart/ beside the README)
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
out=$(realpath -m "${1:-$root/quickstart}")
cd "$root"
. pipelines/setup.sh
install_packages
build release -DBUILD_TESTING=OFF
. pipelines/run.sh "$root/build/release/bin" "$root/pipelines/quickstart" "$out"
