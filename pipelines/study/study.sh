#!/usr/bin/env bash
# Measures what networks, regressions and both together learn from universes, whether posteriors are calibrated, how errors fall
# with the number of universes, what pre-training on cheap universes gains, whether the results hold for finer simulations, how
# they depend on voxel size and training time, and whether networks learn more from whole boxes than from sub-volumes. Ends with
# tables.md. Debian: python3-numpy
# It takes a day on two cores. The same command continues where it was stopped.
# Usage: study.sh BIN OUTPUT [SETTINGS]   (BIN contains the tools; SETTINGS is a directory with other sizes)
set -euo pipefail
[ $# -eq 2 ] || [ $# -eq 3 ] || { echo "Usage: study.sh BIN OUTPUT [SETTINGS]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
bin=$(realpath "$1") out=$(realpath -m "$2") settings=$(realpath "${3:-$here}")
[ -x "$bin/cosmo-sim" ] || { echo "study.sh: $bin/cosmo-sim is missing: give the directory of the tools." >&2; exit 4; }
[ -r "$settings/sizes.env" ] || { echo "study.sh: $settings/sizes.env cannot be read: give a copy of this script's directory." >&2; exit 4; }
. "$settings/sizes.env"
mkdir -p "$out"
cd "$out"

# Runs a command and adds a line to costs.csv: what it made, wall-clock seconds, CPU seconds.
make() {
  local made=$1 TIMEFORMAT='%R %U %S' took status=0
  shift
  echo "== $made"
  { took=$({ time "$@" >&3 2>&4; } 2>&1) || status=$?; } 3>&1 4>&2
  echo "$took" | awk -v made="$made" '{ print made "," $1 "," $2 + $3 }' >> costs.csv
  return $status
}
simulate() { make "$1" "$bin/cosmo-sim" generate --output "$@"; }
shard() { make "$1" "$bin/cosmo-prep" shard --config "$settings/prep.ini" --output "$@"; }
train() { make "$1" "$bin/cosmo-train" --config "$settings/train.ini" --output "$@"; }
predict() {  # DATA MODEL OUTPUT [OPTIONS]
  make "$3" "$bin/cosmo-infer" --split test --data "$1" --model "$2" --output "${@:3}"
}

simulate sim --config "$settings/sim.ini"
shard data --input sim
for seed in $seeds; do
  train "model/all-$seed" --data data --epochs "$epochs" --seed "$seed"
  predict data "model/all-$seed" "predictions/all-$seed"
done

for point in $curve; do
  universes=${point%:*}
  shard "data-$universes" --input sim --training "$universes"
  for seed in $curve_seeds; do
    train "model/$universes-$seed" --data "data-$universes" --epochs "${point#*:}" --seed "$seed"
    predict "data-$universes" "model/$universes-$seed" "predictions/$universes-$seed"
  done
done

simulate cheap --config "$settings/cheap.ini"
make cheap-data "$bin/cosmo-prep" shard --output cheap-data --input cheap --subvolumes 1 --validation "$cheap_held_out" --test 1
train model/cheap --data cheap-data --epochs "$cheap_epochs" --baseline none
for seed in $curve_seeds; do
  train "model/tuned-$seed" --data "data-$tuned_universes" --init-from model/cheap \
    --epochs "$tuned_epochs" --learning-rate "$tuned_rate" --seed "$seed"
  predict "data-$tuned_universes" "model/tuned-$seed" "predictions/tuned-$seed"
done

/usr/bin/python3 "$here/tables.py" design "$out" "$finer_universes"
simulate finer --config "$settings/finer.ini" --design finer.csv
make finer-data "$bin/cosmo-prep" shard --output finer-data --input finer --subvolumes 1 --validation 1 --test "$finer_universes"
for name in data finer-data; do
  make "npy/$name" "$bin/cosmo-prep" export --format npy --input "$name" --output "npy/$name"
done
/usr/bin/python3 "$here/tables.py" mix "$out"
make mixed-data "$bin/cosmo-prep" import --config "$settings/mixed.ini" --input npy --samples mixed.csv --output mixed-data
for seed in $seeds; do
  predict mixed-data "model/all-$seed" "predictions/finer-$seed"
done

simulate voxels --config "$settings/voxels.ini"
for grid in $voxels_grids; do
  shard "voxels$grid" --input voxels --grid "$grid" --validation "$voxels_validation" --test "$voxels_test"
done
number=0
for point in $limits; do  # DATA:NETWORK:EPOCHS
  IFS=: read -r trained network passes <<< "$point"
  number=$((number + 1))
  train "model/limit-$number" --data "$trained" --network "$network" --epochs "$passes" --global-batch "$limits_batch"
  predict "$trained" "model/limit-$number" "predictions/limit-$number"
done

for side in 1 2; do
  shard "views$side" --input voxels --subvolumes "$side" --validation "$voxels_validation" --test "$views_test"
done
number=0
for point in $views; do  # SUBVOLUMES_PER_SIDE:NETWORK:EPOCHS:GLOBAL_BATCH
  IFS=: read -r side network passes batch <<< "$point"
  number=$((number + 1))
  train "model/view-$number" --data "views$side" --network "$network" --epochs "$passes" --global-batch "$batch"
  predict "views$side" "model/view-$number" "predictions/view-$number"
done

/usr/bin/python3 "$here/tables.py" tables "$out" > tables.md
cat tables.md
