#!/usr/bin/env bash
# shellcheck disable=SC1090,SC1091,SC2086,SC2154  # names come from the settings, and options are words without spaces in them
# The 2018 paper's campaign: universes, shards, and trainings on the same shards with their predictions. Submits the jobs of ../slurm, or,
# without Slurm or with --here, runs the stages on this machine, one after another. The same command continues where it was stopped.
# With --estimate: prints what the campaign costs in CPU hours, disk, files, memory and time, from short runs on this machine.
# SETTINGS is a directory with other sizes, such as full, the paper's.
# Usage: run.sh [--here | --estimate [--nodes N] [--json]] OUT [SETTINGS]
set -euo pipefail
usage() {
  echo "Usage: run.sh [--here | --estimate [--nodes N] [--json]] OUT [SETTINGS]" >&2
  exit 2
}
root=$(cd "$(dirname "$(realpath "$0")")/../.." && pwd)
mode=submit asked=() more=()
while [ $# -gt 0 ]; do
  case $1 in
    --here) mode=run_here ;;
    --estimate) mode=estimate ;;
    --nodes) [ $# -gt 1 ] || usage; more+=("$1" "$2"); shift ;;
    --json) more+=("$1") ;;
    -*) usage ;;
    *) asked+=("$1") ;;
  esac
  shift
done
case ${#asked[@]} in 1 | 2) ;; *) usage ;; esac
[ ${#more[@]} -eq 0 ] || [ $mode = estimate ] || usage
out=$(realpath -m "${asked[0]}") settings=$(realpath -m "${asked[1]:-$root/pipelines/paper}")
for file in sim.ini prep.ini train.ini campaign.env; do
  [ -r "$settings/$file" ] || { echo "run.sh: $settings/$file cannot be read: SETTINGS must have sim.ini, prep.ini, train.ini and campaign.env." >&2; exit 4; }
done
bin=$(. "$root/pipelines/tools.sh" && dirname "$(command -v cosmo-sim)")  # not the settings of one machine's MPI, which jobs would get
simulations=$(sed -n 's/^simulations *= *//p' "$settings/sim.ini")

# What the jobs read: the names of ../slurm/settings.env.
variables() {
  printf '%s=%q\n' cosmo "$root" bin "$bin" output "$out" simulations "$simulations" sim "--config $settings/sim.ini" \
    prep "--config $settings/prep.ini" train "--config $settings/train.ini"
  printf '. %q\n' "$settings/campaign.env"
}
. <(variables)

submit() {
  mkdir -p "$out"
  local queued=""
  if [ -e "$out/jobs" ]; then
    queued=$(squeue --noheader --format=%i --jobs="$(awk '{ print $2 }' "$out/jobs" | paste -sd,)" 2>/dev/null || true)
  fi
  [ -z "$queued" ] || { echo "run.sh: the jobs of $out are in the queue already ($(paste -sd' ' <<< "$queued")): wait for them, or cancel them first." >&2; exit 4; }
  variables > "$out/settings.env"
  bash "$root/pipelines/slurm/submit.sh" "$out/settings.env" | tee "$out/jobs"
}

run_here() {
  local training options
  . "$root/pipelines/tools.sh"
  cosmo-sim generate $sim --output "$out/sim"
  cosmo-prep shard $prep --input "$out/sim" --output "$out/data"
  for training in $trainings; do
    options=train_$training
    cosmo-train ${!options} --data "$out/data" --output "$out/model/$training"
    cosmo-infer $infer --model "$out/model/$training" --data "$out/data" --output "$out/predictions/$training"
  done
}

estimate() {
  . "$root/pipelines/tools.sh"
  set -a
  . <(variables)
  set +a
  exec /usr/bin/python3 "$root/pipelines/paper/estimate.py" "$out" "$settings" "${more[@]}"
}

[ $mode != submit ] || command -v sbatch >/dev/null || mode=run_here
$mode
