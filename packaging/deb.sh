#!/usr/bin/env bash
# Builds the package of this tree for the Debian or Ubuntu it runs on: build/package/cosmo_VERSION_ARCHITECTURE.deb.
set -euo pipefail
[ $# -eq 0 ] || { echo "Usage: deb.sh" >&2; exit 2; }
cd "$(dirname "$0")/.."
. pipelines/setup.sh
packages+=(dpkg-dev file)
install_packages
rm -f build/package/cosmo_*.deb # of other versions
cmake --workflow --preset package
