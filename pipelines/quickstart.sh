#!/usr/bin/env bash
# The whole pipeline at a small scale: installs what is missing, builds the four tools, simulates 128 universes,
# cuts them into samples, trains a network and predicts the parameters of 32 universes that it has never seen.
# Usage: quickstart.sh [OUTPUT_DIRECTORY]   (default: quickstart/ beside the README)
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
out=$(realpath -m "${1:-$root/quickstart}")
cd "$root"
. pipelines/setup.sh
install_packages
build release -DBUILD_TESTING=OFF

bin=$root/build/release/bin
settings=$root/pipelines/quickstart
stage() {
  echo
  echo "== $1"
  shift
  "$@"
}
stage "1/4 cosmo-sim: universes from cosmological parameters" \
  "$bin/cosmo-sim" generate --config "$settings/sim.ini" --output "$out/sim"
stage "2/4 cosmo-prep: sub-volumes in shards" \
  "$bin/cosmo-prep" shard --config "$settings/prep.ini" --input "$out/sim" --output "$out/data"
stage "3/4 cosmo-train: a network on 88 universes" \
  "$bin/cosmo-train" --config "$settings/train.ini" --data "$out/data" --output "$out/model"
stage "4/4 cosmo-infer: parameters of 32 universes that the network has never seen" \
  "$bin/cosmo-infer" --model "$out/model" --data "$out/data" --split test --output "$out/predictions"
cat <<END

Done in $((SECONDS / 60)) min $((SECONDS % 60)) s. The files:
  $out/sim           counts of the universes
  $out/data          shards
  $out/model         checkpoints, history.csv, loss.svg
  $out/predictions   predictions.csv, metrics.json, figures
The report:   $out/predictions/report.html
One universe: $bin/cosmo-infer --model $out/model --input $out/sim/sim-00002/counts_z0.h5
END
