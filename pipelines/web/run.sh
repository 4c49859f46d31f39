#!/usr/bin/env bash
# The cosmic web from sparse tracers: simulates universes with the class of each voxel, of all particles in real space, trains a
# U-Net to predict it from the counts of one particle in 64, and measures it on universes that it has never seen beside the finder
# on the same counts. The settings in full/ have more universes, seen more often.
# Usage: run.sh OUT [SETTINGS]   (the tools are those on PATH; SETTINGS is a directory with other sizes)
set -euo pipefail
case ${1:-} in -*) set -- ;; esac  # options are asked for in vain
[ $# -eq 1 ] || [ $# -eq 2 ] || { echo "Usage: run.sh OUT [SETTINGS]" >&2; exit 2; }
here=$(cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")" && pwd)
. "$here/../run.sh" "${2:-$here}" "$1"
