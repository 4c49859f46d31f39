#!/usr/bin/env bash
# Submits the four stages, each to start when the previous one has finished, and prints the jobs' ids: several trainings on the same data,
# and their predictions, at the same time. Run again, for example after the cause of a failure was removed, it continues from what is
# there. Usage: submit.sh SETTINGS
set -euo pipefail
case ${1:-} in -*) set -- ;; esac  # options are asked for in vain
[ $# -eq 1 ] || { echo "Usage: submit.sh SETTINGS" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
settings=$(realpath "$1")
. "$settings"
mkdir -p "$output/logs"

training=""
submit() {  # STAGE [OPTIONS OF SBATCH]: with the training's name
  local stage=$1 nodes=$1_nodes ranks=$1_ranks minutes=$1_minutes name=$1${training:+-$training}
  id=$(sbatch --parsable $slurm --nodes="${!nodes}" --ntasks-per-node="${!ranks}" --cpus-per-task=$((cores / ${!ranks})) \
         --time="${!minutes}" --output="$output/logs/$name-%j.log" "${@:2}" "$here/$stage.sbatch" "$settings" $training)
  id=${id%%;*}  # the rest is the cluster's name if there are several clusters
  echo "$name $id"
}

# A job whose predecessor has failed would wait for ever without --kill-on-invalid-dep.
submit sim --array=0-$((slices - 1)) --output="$output/logs/sim-%A_%a.log"
submit shard --dependency=afterok:"$id" --kill-on-invalid-dep=yes
shard=$id
for training in ${trainings:-""}; do
  submit train --dependency=afterok:"$shard" --kill-on-invalid-dep=yes
  submit infer --dependency=afterok:"$id" --kill-on-invalid-dep=yes
done
