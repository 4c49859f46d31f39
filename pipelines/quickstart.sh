#!/usr/bin/env bash
# The whole pipeline on a small scale: installs what is missing, builds the four tools, simulates 1600 small
# universes, trains a network on 960 and predicts the parameters of 512 that it has never seen.
# Usage: quickstart.sh [OUTPUT_DIRECTORY]   (default: quickstart/ beside the README)
set -euo pipefail
case ${1:-} in -*) set -- "" "" ;; esac  # options are asked for in vain
[ $# -le 1 ] || { echo "Usage: quickstart.sh [OUTPUT_DIRECTORY]" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
out=$(realpath -m "${1:-$root/quickstart}")
cd "$root"
. pipelines/setup.sh
install_packages
targets=(cosmo-sim cosmo-prep cosmo-train cosmo-infer pages)
build release -DBUILD_TESTING=OFF
PATH=$root/build/release/bin:$PATH
. pipelines/run.sh "$root/pipelines/quickstart" "$out"
printf 'The tools:    export PATH=%q:$PATH\n' "$root/build/release/bin"
