#!/usr/bin/env bash
# How trainer, simulator and loader use the cores of this machine: on 1, 2, 4, … of them, rates, speed-ups and shares of what the machine
# gives, in OUT/socket.md and OUT/socket.csv. Needs mpirun, python3 and a directory of the tools, and ends within eight minutes.
# Usage: socket.sh OUT [--bin DIR] [options of socket_cores.py]   (DIR: default the tools on PATH)
set -euo pipefail
[[ "${1:--}" != -* ]] || { echo "Usage: socket.sh OUT [--bin DIR] [--minutes N] [--cores 1,2,...] [--rounds N] [--small]" >&2; exit 2; }
here=$(cd "$(dirname "$(realpath "$0")")" && pwd)
out=$1
shift
if [ "${1:-}" = --bin ] && [ $# -ge 2 ]; then
  PATH=$(realpath -m "$2"):$PATH
  shift 2
fi
for tool in cosmo-sim cosmo-prep cosmo-train mpirun; do
  command -v $tool >/dev/null || { echo "socket.sh: there is no $tool: give --bin, or add its directory to PATH." >&2; exit 4; }
done
set -a
. "$here/../pipelines/mpi.env"
set +a
exec python3 "$here/socket_cores.py" "$out" "$@"
