# Sourced by the jobs and by the rules in ../Snakefile.
set -u  # a missing setting ends the job

# ranks MINUTES TOOL [OPTIONS]: runs a tool on all ranks of a job with a time limit of MINUTES. Outside Slurm it runs as one
# process, with the number of threads that Snakemake sets.
ranks() {
  local minutes=$1 tool=$bin/$2 run
  shift 2
  if [ -z "${SLURM_JOB_ID:-}" ]; then
    "$tool" "$@" --threads "${OMP_NUM_THREADS:-0}"
    return
  fi
  # A killed slurmstepd leaves a socket behind, and a step with the same job and step number cannot start on that node again
  # (Slurm 22.05, PMIx). A requeued job keeps its number, so one empty step for each restart comes first.
  for ((run = 0; run < ${SLURM_RESTART_COUNT:-0}; run++)); do
    srun --mpi=none --nodes=1 --ntasks=1 true
  done
  # --kill-on-bad-exit: if a rank fails, the others would otherwise wait for it.
  # --cpus-per-task: srun does not take it from sbatch (since Slurm 22.05).
  # timeout: srun waits for ever if a slurmstepd was killed; this kills srun a minute before the time limit.
  timeout --signal=KILL $((60 * minutes - 60)) srun --mpi="$mpi" --kill-on-bad-exit=1 --cpus-per-task="$SLURM_CPUS_PER_TASK" \
    "$tool" "$@" --threads "$SLURM_CPUS_PER_TASK"
}

# slice NUMBER: sets `first` and `last` for --select, the universes of a slice of the suite: whole packs, where `sim` has --pack.
slice() {
  local options=$sim pack=1
  if [[ $sim =~ --config[=\ ]+([^\ ]+) ]]; then options+=" --pack $(sed -n 's/^ *pack *= *//p' "${BASH_REMATCH[1]}")"; fi
  if [[ $options =~ --pack[=\ ]+0*([1-9][0-9]*) ]]; then pack=${BASH_REMATCH[1]}; fi  # the command line's before the file's
  local packs=$(((simulations + pack - 1) / pack))
  first=$((packs * $1 / slices * pack)) last=$((packs * ($1 + 1) / slices * pack))
  [ "$last" -le "$simulations" ] || last=$simulations
  if [ "$first" -eq "$last" ]; then
    echo "Slice $1 has no universe: there are more slices than packs of $pack."
    exit 0
  fi
}

# Removes from the job's nodes what killed ranks of Open MPI leave there: this user's segments of shared memory that are older than a
# minute and in no process.
remove_segments() {
  [ -z "${SLURM_JOB_ID:-}" ] || srun --mpi=none --ntasks-per-node=1 --ntasks="${SLURM_JOB_NUM_NODES:-1}" bash -c '
    find /dev/shm -maxdepth 1 -user "$(id -un)" -name "vader_segment.*" -mmin +1 | while read -r segment; do
      grep -qsF "$segment" /proc/[0-9]*/maps || rm -f "$segment"
    done' || true
}

# finish STATUS: ends the job with a tool's exit code; requeues it first if the same command can continue.
finish() {
  case $1 in
    0 | 2 | 3 | 5 | 6 | 70) exit "$1" ;;  # finished, or an error that would recur
  esac
  # Otherwise it was stopped (75), the file system or memory failed (4), or a rank was killed (128 and more).
  [ "$1" -lt 128 ] || remove_segments
  if [ "${SLURM_RESTART_COUNT:-0}" -lt "$restarts" ]; then
    # An array task is named by both numbers: the array's alone means all of its tasks.
    scontrol requeue "${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}"
  fi
  exit "$1"
}
