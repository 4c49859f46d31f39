#!/usr/bin/env bash
# Builds and tests the commit at HEAD in chroots of the systems below and prints a table; exits with 1 if a row has
# a failure. Needs root, debootstrap and Debian's servers.
set -euo pipefail
usage="Usage: portability.sh [-n] [-d DIRECTORY] [-s STEPS] [-t WORDS] [COMBINATION...]   (default: all combinations)
  -n            only print what would be run
  -d DIRECTORY  where chroots, the compilers' cache, logs and results are kept (default: /var/tmp/cosmo-portability)
  -s STEPS      some of \"system build tests quickstart counts\" (default: all); the others keep their results
  -t WORDS      words for ctest, as \"-L 'fast|mpi' -j 2\"
Combinations:"

# combination | Debian | preset, options of CMake | instead of which packages | packages
table="
debian12-gcc   | bookworm | release | |
debian12-clang | bookworm | release -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 | | clang-19 libomp-19-dev
debian12-mpich | bookworm | release | openmpi | mpich libmpich-dev libhdf5-mpich-dev
debian13-gcc   | trixie   | release | |
portable       | bookworm | portable | |
debug          | bookworm | debug | |
aarch64        | bookworm | release --toolchain cmake/aarch64.cmake -DCOSMO_ARCHITECTURE= | :arm64 | g++-aarch64-linux-gnu qemu-user
"
root=$(cd "$(dirname "$0")/.." && pwd)
directory=/var/tmp/cosmo-portability words="" dry="" every="system build tests quickstart counts"
steps=$every
names=$(sed -n 's/ *|.*//p' <<<"$table")
refuse() { echo "portability.sh: $1" >&2; exit 2; }
while getopts nd:s:t:h option; do
  case $option in
    n) dry=yes ;;
    d) directory=$(realpath -m "$OPTARG") ;;
    s) steps=$OPTARG ;;
    t) words=$OPTARG ;;
    h) printf '%s\n' "$usage" "$names"; exit ;;
    *) printf '%s\n' "$usage" "$names" >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))
for name in "$@"; do grep -qx -e "$name" <<<"$names" || refuse "no combination is called '$name': choose from ${names//$'\n'/, }."; done
[ "${steps// /}" ] || refuse "-s: no step is given; there are $every."
for step in $steps; do
  grep -qw -e "$step" <<<"$every" || refuse "-s: no step is called '$step'; there are $every."
done
[ $# -gt 0 ] || mapfile -t -- all <<<"$names"
[ $# -gt 0 ] || set -- "${all[@]}"
# shellcheck disable=SC1091,SC2154
mapfile -t packages < <(cd "$root" && . pipelines/setup.sh && printf '%s\n' "${packages[@]}" "${test_packages[@]}" ccache)

# look_up COMBINATION: its row, and the packages that it needs.
look_up() {
  local away more
  IFS='|' read -r name suite options away more < <(grep "^$1 " <<<"$table" | sed 's/ *| */|/g')
  chroot=$directory/$suite${more:+-${more// /-}}
  source=/src/$name
  build=$source/build/${options%% *}
  if [ "$away" = :arm64 ]; then  # Debian's libraries for ARM; programs that build and test run here
    mapfile -t system < <(printf '%s\n' "${packages[@]}" | sed -E 's/^(lib.*-dev|openmpi-bin)$/\1:arm64/; s/^(libeigen3-dev|librandom123-dev):arm64/\1/')
  else
    mapfile -t system < <(printf '%s\n' "${packages[@]}" | grep -v "${away:-^$}")
  fi
  read -ra more <<<"$more"
  system+=("${more[@]}")
}

# inside COMMAND...: in the chroot; what is mounted there is gone with the command.
inside() {
  if [ "$dry" ]; then sed 's/^/  /' <<<"$*"; return; fi
  # shellcheck disable=SC2016
  unshare --mount bash -c '
    for place in proc sys dev dev/pts; do mount --bind "/$place" "$1/$place"; done
    mount -t tmpfs tmpfs "$1/dev/shm" && mount --bind "$2/ccache" "$1/var/cache/ccache"
    exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
      CCACHE_DIR=/var/cache/ccache CCACHE_BASEDIR="$3" CCACHE_NOHASHDIR=1 ASAN_OPTIONS=detect_leaks=0 bash -euo pipefail -c "${@:4}"' \
    - "$chroot" "$directory" "$source" "$@"
}

step_system() {
  if [ "$dry" ]; then
    echo "  debootstrap --variant=minbase $suite $chroot    # in which all but git run"
  else
    [ -e "$chroot/etc/debian_version" ] || debootstrap --variant=minbase "$suite" "$chroot"
    echo "127.0.0.1 localhost $(hostname)" >"$chroot/etc/hosts"  # or else Open MPI waits for a name server
    mkdir -p "$chroot/var/cache/ccache"
  fi
  [[ $chroot != *-aarch64-* ]] || inside "dpkg --add-architecture arm64"
  inside "apt-get update -qq && apt-get install -y -qq --no-install-recommends ${system[*]}"
  echo "made"
}
step_build() {
  if [ "$dry" ]; then
    echo "  git clone $root $chroot$source"
  else
    rm -rf "${chroot:?}$source" "$directory/results/$combination".{tests,quickstart,counts}
    git clone -q "$root" "$chroot$source"
  fi
  inside "cd $source && cmake --preset $options -DBUILD_TESTING=ON -DCMAKE_COMPILE_WARNING_AS_ERROR=ON \
-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache && cmake --build $build -- -k 0"
  echo "yes"
}
step_tests() {
  local chosen="-j $((3 * $(nproc))) $words"
  [[ $options != debug* ]] || chosen+=" -L '^(fast|mpi|chain)$'"
  [[ $options != *aarch64* ]] || chosen+=" -L fast"
  local code=0 failed all
  inside "cd $source && ctest --test-dir $build --no-tests=error --output-on-failure $chosen" || code=$?
  [ ! "$dry" ] || return 0
  # There is nothing to read where ctest was stopped or found no test, which ends this step as failed.
  read -r failed all < <(sed -nE 's/.* ([0-9]+) tests failed out of ([0-9]+)$/\1 \2/p' "$log")
  echo "$([ $code -eq 0 ] || echo "failed: ")$((all - failed)) / $all${words:+ ($words)}"
}
step_quickstart() {
  inside "export PATH=$build/bin:\$PATH && rm -rf /tmp/quickstart && time bash $source/pipelines/run.sh $source/pipelines/quickstart /tmp/quickstart"
  sed -n 's/^Done in \(.*\)\. The files:/\1/p' "$log"
}
step_counts() {
  inside "rm -rf /tmp/counts && ${emulator:+$emulator }$build/bin/cosmo-sim generate --particles 64 --seed 1 --output /tmp/counts
python3 -c 'import h5py, hashlib; print(\"counts:\", hashlib.sha256(h5py.File(\"/tmp/counts/sim-00000/counts_z0.h5\")[\"counts\"][:].tobytes()).hexdigest())'"
  sed -n 's/^counts: //p' "$log"
}

for combination in "$@"; do
  look_up "$combination"
  emulator=""
  [[ $options != *aarch64* ]] || emulator=qemu-aarch64
  for step in $steps; do
    [[ $step != quickstart || $options != @(debug|*aarch64)* ]] || continue  # too slow
    log=$directory/logs/$combination.$step.txt result=$directory/results/$combination.$step
    echo "== $combination: $step"
    if [ "$dry" ]; then
      log=/dev/null
      "step_$step" | grep "^  "
      continue
    fi
    mkdir -p "$directory"/{logs,results,ccache}
    rm -f "$result"
    if [[ $step != @(system|build) && $(cat "$directory/results/$combination.build" 2>/dev/null) != yes ]]; then
      echo "failed: not built" | tee "$result"
      break
    fi
    # A function in a condition would go on after an error, hence the shell of its own.
    set +e
    (set -e; "step_$step") >"$log" 2>&1
    code=$?
    set -e
    if [ $code -eq 0 ]; then tail -n 1 "$log" >"$result"; else echo "failed" >"$result"; fi
    echo "   $(cat "$result")   ($log)"
    [[ $code -eq 0 || $step != @(system|build) ]] || break
  done
done
[ ! "$dry" ] || exit 0

bad=0
column=%-15s\ %-22s\ %-30s\ %-18s\ %s\\n
echo
# shellcheck disable=SC2059
printf "$column" combination "builds without warnings" "tests passed / run" quickstart "SHA-256 of the counts of one seed"
for combination in "$@"; do
  of() { cat "$directory/results/$combination.$1" 2>/dev/null || echo "-"; }
  ! grep -q ^failed "$directory/results/$combination".* || bad=1
  # shellcheck disable=SC2059
  printf "$column" "$combination" "$(of build)" "$(of tests)" "$(of quickstart)" "$(of counts)"
done
exit $bad
