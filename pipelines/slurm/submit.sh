#!/usr/bin/env bash
# Submits the four stages, each to start when the previous one has finished, and prints the jobs' ids: several trainings on the same data,
# and their predictions, at the same time. Run again, for example after the cause of a failure was removed, it continues from what is
# there. With names of stages it submits these alone: those before them must have finished.
# Usage: submit.sh SETTINGS [sim] [shard] [train] [infer]
set -euo pipefail
usage() {
  echo "Usage: submit.sh SETTINGS [sim] [shard] [train] [infer]" >&2
  exit 2
}
[ $# -gt 0 ] || usage
case $1 in -*) usage ;; esac  # options are asked for in vain
for stage in "${@:2}"; do
  case $stage in sim | shard | train | infer) ;; *) usage ;; esac
done
[ -r "$1" ] || { echo "submit.sh: $1 cannot be read: give a copy of settings.env." >&2; exit 4; }
command -v sbatch >/dev/null || { echo "submit.sh: sbatch is not on PATH: submit where Slurm is, or use run.sh without it." >&2; exit 4; }
stages=${*:2}
here=$(cd "$(dirname "$0")" && pwd)
settings=$(realpath "$1")
. "$settings"
mkdir -p "$output/logs"

training="" id=""
submit() {  # STAGE [OPTIONS OF SBATCH]: if it is asked for, with the training's name, after the job `id`
  [[ " ${stages:-$1} " = *" $1 "* ]] || return 0
  local stage=$1 nodes=$1_nodes ranks=$1_ranks minutes=$1_minutes name=$1${training:+-$training}
  id=$(sbatch --parsable $slurm --nodes="${!nodes}" --ntasks-per-node="${!ranks}" --cpus-per-task=$((cores / ${!ranks})) \
         --time="${!minutes}" --output="$output/logs/$name-%j.log" ${id:+--dependency=afterok:"$id" --kill-on-invalid-dep=yes} "${@:2}" "$here/$stage.sbatch" "$settings" $training)
  id=${id%%;*}  # the rest is the cluster's name if there are several clusters
  echo "$name $id"
}

# A job whose predecessor has failed would wait for ever without --kill-on-invalid-dep.
submit sim --array=0-$((slices - 1)) --output="$output/logs/sim-%A_%a.log"
submit shard
shard=$id
for training in ${trainings:-""}; do
  id=$shard
  submit train
  submit infer
done
