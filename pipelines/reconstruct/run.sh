#!/usr/bin/env bash
# Initial conditions from the particles of today: simulates universes with the density that they began with, trains a U-Net to
# predict it from counts and their reconstruction, and measures r(k) and T(k) on universes that it has never seen.
# Four minutes on two cores; with the settings in full/, voxels of 4 Mpc/h, two hours.
# Usage: run.sh OUT [SETTINGS]   (the tools are those on PATH; SETTINGS is a directory with other sizes)
set -euo pipefail
case ${1:-} in -*) set -- ;; esac  # options are asked for in vain
[ $# -eq 1 ] || [ $# -eq 2 ] || { echo "Usage: run.sh OUT [SETTINGS]" >&2; exit 2; }
here=$(cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")" && pwd)
. "$here/../run.sh" "${2:-$here}" "$1"
