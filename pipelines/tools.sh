# Sourced by the pipelines: finds the tools, on PATH or else those of the installation that this file belongs to, and exports the
# settings of mpirun.
pipelines=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
PATH=$PATH:$(realpath -m "$pipelines/../../../bin")  # PREFIX/bin beside PREFIX/share/cosmo/pipelines
for tool in cosmo-sim cosmo-prep cosmo-train cosmo-infer; do
  command -v $tool >/dev/null || { echo "run.sh: $tool is not on PATH: install cosmo, or add the directory of its tools to PATH." >&2; exit 4; }
done
set -a
. "$pipelines/mpi.env"
set +a
