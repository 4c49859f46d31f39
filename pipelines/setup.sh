# Sourced by the README's commands: installs missing Debian packages and builds.
# Debian packages that the toolkit itself needs; a caller may add to the list before calling install_packages.
packages=(cmake ninja-build g++ git pkg-config openmpi-bin libopenmpi-dev libhdf5-openmpi-dev libfftw3-dev libdnnl-dev
          libeigen3-dev libboost-dev libboost-program-options-dev libfmt-dev nlohmann-json3-dev librandom123-dev libssl-dev
          zlib1g-dev libisal-dev libpng-dev)
# What the tests need besides.
test_packages=(catch2 dpkg-dev file python3 python3-h5py python3-numpy python3-onnx python3-pandas python3-torch python3-yaml python3-yt
               groff-base qemu-user)

install_packages() {
  local missing=() package
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  echo "== Installing from Debian: ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null || { ! sudo -n true 2>/dev/null && [ ! -t 0 ]; }; then
      echo "These packages are missing; have an administrator run, then start again:" >&2
      echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# build PRESET [CMAKE OPTION...]; builds the targets in the array `targets` if that is set, otherwise everything.
build() {
  local preset=$1
  shift
  echo "== Building (preset $preset)"
  cmake --preset "$preset" "$@" >/dev/null
  cmake --build --preset "$preset" ${targets:+--target "${targets[@]}"}
}

set -a
. pipelines/mpi.env
set +a
