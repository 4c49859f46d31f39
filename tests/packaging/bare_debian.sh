#!/usr/bin/env bash
# Installs a package on a bare Debian, runs the quickstart's settings at a small size, or with -f as they are, shows the
# manual page and completion, and removes the package again. Not part of ctest: it needs root, debootstrap and Debian's
# servers, and takes some minutes.
# Usage: bare_debian.sh [-f] PACKAGE.deb [SUITE [DIRECTORY]]   (default: bookworm, in a temporary directory that is removed;
# a DIRECTORY that contains a system already is used as it is, and stays)
set -euo pipefail
full=""
[ "${1-}" != -f ] || { full=yes; shift; }
[ $# -ge 1 ] && [ $# -le 3 ] || { echo "Usage: bare_debian.sh [-f] PACKAGE.deb [SUITE [DIRECTORY]]" >&2; exit 2; }
package=$(realpath "$1") suite=${2:-bookworm}
if [ $# -eq 3 ]; then
  root=$(realpath -m "$3")
else
  root=$(mktemp -d)
fi
mounted=()
finish() {
  local place
  for place in "${mounted[@]}"; do umount "$root/$place"; done
  [ $# -eq 3 ] || rm -rf --one-file-system "$root"
}
trap 'finish "${@}"' EXIT

[ -e "$root/etc/debian_version" ] || debootstrap --variant=minbase "$suite" "$root"
grep -qs "$(hostname)" "$root/etc/hosts" || echo "127.0.0.1 localhost $(hostname)" >> "$root/etc/hosts"  # or else Open MPI waits for a name server
rm -rf "$root/tmp/settings" "$root/tmp/out" "$root/tmp/two-ranks"
for place in proc sys dev dev/pts dev/shm; do
  mount --bind "/$place" "$root/$place"
  mounted=("$place" "${mounted[@]}")  # the last is the first to go
done
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive HOME=/root "$@"; }
# What a system has besides its records of packages.
files() { inside find /etc /home /opt /root /srv /usr /var -xdev -not -path '/var/lib/dpkg/*' -not -path '/var/lib/apt/*' -not -path '/var/cache/*' -not -path '/var/log/*' | sort; }
step() { echo "== $*"; }

step "the libraries that it needs, as a system has them before"
inside apt-get update -qq
cp "$package" "$root/tmp/"
inside apt-get install -y -qq --no-install-recommends man-db bash-completion $(dpkg-deb -f "$package" Depends | tr ',' '\n' | sed 's/(.*//') >/dev/null
files > "$root/tmp/before"

step "apt-get install ./$(basename "$package")"
inside sh -c "cd /tmp && apt-get install -y -qq --no-install-recommends ./$(basename "$package")" >/dev/null
for tool in sim prep train infer; do inside "cosmo-$tool" --version; done

step "the quickstart's settings$([ "$full" ] || echo ", smaller")"
cp -r "$root/usr/share/cosmo/pipelines/quickstart" "$root/tmp/settings"
if [ ! "$full" ]; then
  sed -i 's/^simulations .*/simulations = 8/; s/^particles .*/particles = 32/' "$root/tmp/settings/sim.ini"
  sed -i 's/^validation .*/validation = 2/; s/^test .*/test = 3/' "$root/tmp/settings/prep.ini"
  sed -i 's/^epochs .*/epochs = 2/; s/^global-batch .*/global-batch = 2/' "$root/tmp/settings/train.ini"
fi
inside bash /usr/share/cosmo/pipelines/run.sh /tmp/settings /tmp/out
inside mpirun --allow-run-as-root --oversubscribe -n 2 cosmo-sim generate --particles 16 --output /tmp/two-ranks

step "man cosmo-train, its first lines; completion"
inside sh -c 'MANWIDTH=100 man --warnings cosmo-train | col -b 2>/dev/null || man cosmo-train' | sed -n 1,12p
inside bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader cosmo-sim || true
                COMP_WORDS=(cosmo-sim generate --save ""); COMP_CWORD=3; _cosmo_sim; echo "cosmo-sim generate --save <TAB>: ${COMPREPLY[*]}"'

step "apt-get purge cosmo"
inside apt-get purge -y -qq cosmo >/dev/null
files | diff "$root/tmp/before" - && echo "nothing is left"
