#!/usr/bin/env bash
# Where networks hold: trains on universes of one setting and of many, smoothed or not, and judges all of them on universes of
# settings, integrators and programs that none has learned from. Ends with tables.md and front.svg, bias against precision.
# It takes three hours on two cores. The same command continues where it was stopped.
# Usage: run.sh OUT [SETTINGS]   (the tools are those on PATH; SETTINGS is a directory with other sizes)
set -euo pipefail
case ${1:-} in -*) set -- ;; esac  # options are asked for in vain
[ $# -eq 1 ] || [ $# -eq 2 ] || { echo "Usage: run.sh OUT [SETTINGS]" >&2; exit 2; }
here=$(cd "$(dirname "$(realpath "$0")")" && pwd)
out=$(realpath -m "$1") settings=$(realpath "${2:-$here}")
[ -r "$settings/sizes.env" ] || { echo "run.sh: $settings/sizes.env cannot be read: give a copy of this script's directory." >&2; exit 4; }
. "$here/../tools.sh"
. "$settings/sizes.env"
mkdir -p "$out"
cd "$out"

# Calls a function with the name and the options of each entry of a list.
for_each() {
  local entries entry
  IFS=';' read -rd '' -a entries < <(printf '%s' "$2") || true
  for entry in "${entries[@]}"; do
    [ -z "${entry//[[:space:]]/}" ] || $1 "$(tr -d '[:space:]' <<< "${entry%%:*}")" "${entry#*:}"
  done
}
stage() {
  echo "== $1"
  "${@:2}"
}

seed=0
simulate() {  # NAME UNIVERSES OPTIONS
  seed=$((seed + 1))
  # Options are words without spaces in them.
  # shellcheck disable=SC2086
  stage "$1" cosmo-sim generate --config "$settings/sim.ini" --seed "$((5300 + seed))" --simulations "$2" --output "$1" $3
}
learn_from() {
  local parts part number=0 most made=""
  IFS='|' read -ra parts <<< "$2"
  for part in "${parts[@]}"; do
    number=$((number + 1))
    most=${#parts[@]}
    simulate "sim/$1-$number" "$((universes * number / most - universes * (number - 1) / most))" "$part"
    made="$made,sim/$1-$number"
  done
  stage "data/$1" cosmo-prep shard --config "$settings/prep.ini" --input "${made#,}" --output "data/$1"
}
judge_on() {
  simulate "sim/test-$1" "$held_out" "$2"
  stage "test/$1" cosmo-prep shard --input "sim/test-$1" --test-for "data/one" --output "test/$1"
}
judge_on_imported() {
  stage "test/$1" cosmo-prep import --format npy --input "${2// }" --samples "${2// }.csv" --box 256 \
    --parameters omega_m=0.25:0.35,sigma8=0.78:0.95,n_s=0.9:1.0 --output "test/$1"
}
for_each learn_from "$mixtures"
for_each judge_on "$tests"
for_each judge_on_imported "$imported"

train() {  # RECIPE OPTIONS: on the mixture $mixture, with the seed $number
  local name="$mixture-$1-$number" test
  # shellcheck disable=SC2086
  stage "model/$name" cosmo-train --config "$settings/train.ini" --data "data/$mixture" --epochs "$epochs" --seed "$number" \
    --output "model/$name" $2
  stage "predictions/$name/own" cosmo-infer --model "model/$name" --data "data/$mixture" --split test \
    --output "predictions/$name/own"
  for test in test/*; do
    stage "predictions/$name/${test#test/}" cosmo-infer --model "model/$name" --data "$test" --split test \
      --output "predictions/$name/${test#test/}"
  done
}
train_on() {
  mixture=$1
  for number in $seeds; do for_each train "$recipes"; done
}
for_each train_on "$mixtures"

/usr/bin/python3 "$here/tables.py" "$out" > tables.md
cat tables.md
