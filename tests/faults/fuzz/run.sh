#!/usr/bin/env bash
# Builds the fuzz targets and runs these, or all, under libFuzzer: run.sh [TARGET]...
# COSMO_FAULTS=all takes 1,000,000 executions of each (100,000 of hdf5 and spectrum), otherwise 20,000 (500).
# What ends a target, and its log, is kept in build/fuzz/found/, what reaches new code in build/fuzz/grown/TARGET/.
set -euo pipefail
cd "$(dirname "$0")/../../.."
command -v clang++ > /dev/null || { echo "run.sh needs clang++ with libFuzzer (Debian: clang, libomp-dev)" >&2; exit 1; }

cmake --preset fuzz > /dev/null
targets=("$@")
[[ $# -gt 0 ]] || for seeds in build/fuzz/tests/fuzz/*/; do targets+=("$(basename "$seeds")"); done
cmake --build build/fuzz --target "${targets[@]/#/fuzz_}"

failed=()
for target in "${targets[@]}"; do
  fast=20000 all=1000000
  [[ $target == hdf5 || $target == spectrum ]] && fast=500 all=100000
  runs=$([[ ${COSMO_FAULTS:-} == all ]] && echo $all || echo $fast)
  grown=build/fuzz/grown/$target
  mkdir -p "$grown" build/fuzz/found
  echo "== $target, $runs executions"
  # One thread: a target may fork, and threads of OpenMP would not be there after that.
  OMP_NUM_THREADS=1 build/fuzz/tests/"fuzz_$target" -runs="$runs" -timeout=60 -rss_limit_mb=2048 -malloc_limit_mb=2048 \
    -artifact_prefix="build/fuzz/found/$target-" -print_final_stats=1 "$grown" "build/fuzz/tests/fuzz/$target" \
    &> "build/fuzz/found/$target.log" || { failed+=("$target"); tail -n 40 "build/fuzz/found/$target.log"; }
done
[[ ${#failed[@]} -eq 0 ]] || { echo "found something: ${failed[*]}; see build/fuzz/found" >&2; exit 1; }
