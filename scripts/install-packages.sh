#!/usr/bin/env bash
# Installs the Debian packages that one or more groups need and that are not there yet.
#   scripts/install-packages.sh program|mpi|tests|lint|clang|browser|python|bench-peers ...
# With nothing missing, apt-get is not called. FEDSINKHORN_SKIP_PACKAGES=1 skips the check, for systems without dpkg
# whose packages go by other names.
set -euo pipefail

# package, or package=command when a command of that name from anywhere else will do.
program=(g++=g++ cmake=cmake ninja-build=ninja pkg-config=pkg-config libhwy-dev libopenblas-serial-dev libcli11-dev
         nlohmann-json3-dev libfmt-dev libboost-dev libmpfr-dev libgmp-dev libsodium-dev libcsv-dev libcpp-httplib-dev)
mpi=(libopenmpi-dev openmpi-bin)
tests=("${mpi[@]}" libgtest-dev libvalijson-dev libglpk-dev python3=python3)
lint=(clang-format=clang-format clang-tidy=clang-tidy)
clang=(clang=clang++ libclang-rt-14-dev)
browser=(npm=npm chromium=chromium)
python=(python3-dev pybind11-dev libdlpack-dev python3-numpy python3-pip python3-setuptools python3-venv python3-wheel
        python3-pytest python3-hypothesis python3-tqdm python3-pot python3-torch python3-sklearn python3-mpi4py
        "${mpi[@]}" python3-matplotlib)
# Only to time other solvers beside ours: nothing else needs these, and no other target asks for them.
bench_peers=(python3-numpy python3-pot python3-torch python3-mpi4py libopenblas0-pthread)

fail() {
  echo "install-packages: $*" >&2
  exit 1
}

groups=(program mpi tests lint clang browser python bench-peers)
wanted=()
for group in "$@"; do
  [[ " ${groups[*]} " == *" $group "* ]] || fail "no group '$group'; there are: ${groups[*]}"
  declare -n packages=${group//-/_}
  wanted+=("${packages[@]}")
done
((${#wanted[@]})) || fail "name a group: ${groups[*]}"
[[ ${FEDSINKHORN_SKIP_PACKAGES:-} ]] && exit 0

# One query for all: dpkg-query is quick, but not quick enough to be called for each.
installed=" $(dpkg-query -W -f '${Package}:${db:Status-Status} ' "${wanted[@]%%=*}" 2>/dev/null || true)"
missing=()
for entry in "${wanted[@]}"; do
  package=${entry%%=*}
  [[ $installed == *" $package:installed "* ]] && continue
  [[ $entry == *=* ]] && command -v "${entry#*=}" >/dev/null && continue
  missing+=("$package")
done
((${#missing[@]})) || exit 0

command -v apt-get >/dev/null ||
  fail "there is no apt-get here; install what your system calls ${missing[*]}," \
    "then set FEDSINKHORN_SKIP_PACKAGES=1"
as_root=()
if ((EUID != 0)); then
  # Without a terminal sudo cannot ask for a password.
  if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
    as_root=(sudo)
  else
    fail "missing packages, and neither root nor sudo to install them. Have someone run:" \
      "apt-get install --no-install-recommends ${missing[*]}"
  fi
fi

echo "install-packages: installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
# env rather than an assignment: sudo drops the environment. --no-remove: never at the cost of another package.
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq -o Dpkg::Use-Pty=0 --no-install-recommends --no-remove "${missing[@]}"
