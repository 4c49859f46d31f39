#!/usr/bin/env bash
# Usage: same_everywhere.sh PROGRAM MPIEXEC. Fails unless PROGRAM prints the same line on every layout.
set -euo pipefail
reference=
for layout in "1 1" "1 2" "2 1" "2 2" "3 1" "3 2" "4 1" "4 2"; do
  read -r ranks threads <<<"$layout"
  line=$(OMP_NUM_THREADS=$threads "$2" -n "$ranks" --bind-to none "$1")
  echo "$ranks ranks x $threads threads: $line"
  [ -n "$line" ] || { echo "no answer"; exit 1; }
  [ "$line" = "${reference:=$line}" ] || { echo "differs from 1 rank x 1 thread: $reference"; exit 1; }
done
