#!/usr/bin/env bash
# Runs the four stages one after another with the settings in a directory: sim.ini, prep.ini, train.ini.
# Usage: run.sh SETTINGS OUTPUT   (the tools are those on PATH, or else those of the installation that this script belongs to)
set -euo pipefail
[ $# -eq 2 ] || { echo "Usage: run.sh SETTINGS OUTPUT" >&2; exit 2; }
settings=$1 out=$(realpath -m "$2")
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/tools.sh"

stage() {
  echo
  echo "== $1"
  shift
  "$@"
}
stage "1/4 cosmo-sim: universes from cosmological parameters" \
  cosmo-sim generate --config "$settings/sim.ini" --output "$out/sim"
stage "2/4 cosmo-prep: sub-volumes in shards" \
  cosmo-prep shard --config "$settings/prep.ini" --input "$out/sim" --output "$out/data"
stage "3/4 cosmo-train: a network on most of the universes" \
  cosmo-train --config "$settings/train.ini" --data "$out/data" --output "$out/model"
stage "4/4 cosmo-infer: predictions for universes that the network has never seen" \
  cosmo-infer --model "$out/model" --data "$out/data" --split test --output "$out/predictions"
cat <<END

Done in $((SECONDS / 60)) min $((SECONDS % 60)) s. The files:
  $out/sim           counts of the universes
  $out/data          shards
  $out/model         checkpoints, history.csv, loss.svg
  $out/predictions   predictions, metrics.json, figures
The report:   $out/predictions/report.html
One universe: $(printf '%q ' "$(command -v cosmo-infer)" --model "$out/model" --input "$out/sim/sim-00002/counts_z0.h5" --output "$out/one")
END
