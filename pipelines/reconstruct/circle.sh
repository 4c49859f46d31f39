#!/usr/bin/env bash
# Closes the circle of run.sh: samples initial conditions of held-out universes with their own parameters and with predicted ones,
# simulates what becomes of them, and measures how much the counts of today have in common with the true ones. Ends with circle.md and
# circle.svg. A few minutes on two cores. The same command continues where it was stopped.
# Usage: circle.sh OUT [SETTINGS]   (OUT is run.sh's, of the same SETTINGS; the tools are those on PATH)
set -euo pipefail
case ${1:-} in -*) set -- ;; esac  # options are asked for in vain
[ $# -eq 1 ] || [ $# -eq 2 ] || { echo "Usage: circle.sh OUT [SETTINGS]" >&2; exit 2; }
here=$(cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")" && pwd)
out=$(realpath -m "$1") settings=$(realpath "${2:-$here}")
[ -f "$out/predictions/metrics.json" ] || { echo "circle.sh: $out has no predictions: run run.sh $1 first." >&2; exit 3; }
. "$here/../tools.sh"
. "$settings/circle.env"
mkdir -p "$out/circle"
cd "$out/circle"
grep -v '^seed' "$settings/sim.ini" > sim.ini  # phases are those of the samples

cosmo-train --config "$settings/parameters.ini" --data ../data --output parameters
cosmo-infer --model parameters --data ../data --output predicted --quiet
/usr/bin/python3 "$here/circle.py" plan . "$universes" > plan.txt
while read -r kind simulation options; do
  name=$kind-$simulation counts=../sim/sim-$simulation/counts_z0.h5
  echo "== $name"
  # shellcheck disable=SC2086
  [ -f "noise-$name" ] || cosmo-infer --model ../model --input "$counts" --white-noise "noise-$name" --seed "$((10#$simulation))" $options
  # shellcheck disable=SC2086
  cosmo-sim generate --config sim.ini --simulations 1 --white-noise "noise-$name" $options --output "sim-$name"
done < plan.txt
/usr/bin/python3 "$here/circle.py" measure .
cat circle.md
