#!/usr/bin/env bash
# Submits the four stages, each to start when the previous one has finished, and prints the jobs' ids. Run again, for example after
# the cause of a failure was removed, it continues from what is there. Usage: submit.sh SETTINGS
set -euo pipefail
[ $# -eq 1 ] || { echo "Usage: submit.sh SETTINGS" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
settings=$(realpath "$1")
. "$settings"
mkdir -p "$output/logs"

submit() {  # STAGE [OPTIONS OF SBATCH]
  local stage=$1 nodes=$1_nodes ranks=$1_ranks minutes=$1_minutes
  id=$(sbatch --parsable $slurm --nodes="${!nodes}" --ntasks-per-node="${!ranks}" --cpus-per-task=$((cores / ${!ranks})) \
         --time="${!minutes}" --output="$output/logs/$stage-%j.log" "${@:2}" "$here/$stage.sbatch" "$settings")
  id=${id%%;*}  # the rest is the cluster's name if there are several clusters
  echo "$stage $id"
}

# A job whose predecessor has failed would wait for ever without --kill-on-invalid-dep.
submit sim --array=0-$((slices - 1)) --output="$output/logs/sim-%A_%a.log"
submit shard --dependency=afterok:"$id" --kill-on-invalid-dep=yes
submit train --dependency=afterok:"$id" --kill-on-invalid-dep=yes
submit infer --dependency=afterok:"$id" --kill-on-invalid-dep=yes
