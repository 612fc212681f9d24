#!/usr/bin/env bash
# Who includes whom, how long functions are, and clang-tidy over our own sources, with the flags of a configured build
# folder.
#   scripts/lint.sh [build folder [file ...]]      JOBS=n: that many at once (default: all cores)
#                                                  FOLDER=src: only files in that folder (default: all)
# .clang-tidy has the checks; files of that name in some folders take a few away.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/rooms.py
scripts/function_length.py

build=${1:-build}
shift $(($# > 0))
[[ -f $build/compile_commands.json ]] || {
  echo "lint: $build/compile_commands.json is missing; run 'cmake --preset release'" >&2
  exit 1
}
# A source, or those that a file made by CMake includes; relative to the project.
sources_of() {
  if [[ $1 == */Unity/* ]]; then sed -n "s|^#include \"$PWD/\(.*\)\"$|\1|p" "$1"; else echo "$1"; fi
}

if (($#)); then
  files=("$@")
else
  # What the build compiles (of CUDA clang-tidy knows too little), and two folders it leaves to other builds: clang-tidy
  # takes the flags of a file nearby. Sources that the build compiles together (unity_*.cxx) are checked together: most of
  # the time goes into the headers they share. The longest first, so that no core waits for a long one at the end.
  mapfile -t files < <({ sed -n "s|^ *\"file\": \"$PWD/\(.*\.c[px][px]\)\".*|\1|p" "$build/compile_commands.json"
    ls examples/*.cpp fuzz/*.cpp; } | sort -u | while read -r file; do
      mapfile -t sources < <(sources_of "$file")
      if [[ ${sources[0]} == "${FOLDER:-}"* ]]; then echo "$(cat "${sources[@]}" | wc -c) $file"; fi
    done | sort -rn | cut -d ' ' -f 2)
fi

# The flags are those of the compiler that builds, perhaps GCC: clang need not know all of its warnings. The build's own
# warnings are the build's business.
one_file() {
  local output folder checks=-bugprone-suspicious-include # which does not like sources that include sources
  folder=$(dirname "$(sources_of "$2" | head -1)")
  # clang-tidy looks for .clang-tidy in the folder of the file it is given, which need not be that of the sources.
  until [[ $folder == . || -f $folder/.clang-tidy ]]; do folder=$(dirname "$folder"); done
  [[ $folder == . ]] || checks+=,$(sed -n "s/^Checks: '\(.*\)'/\1/p" "$folder/.clang-tidy")
  if output=$(clang-tidy --quiet -p "$1" --checks="$checks" --extra-arg=-Wno-unknown-warning-option \
                --extra-arg=-Wno-error "$2" 2>&1); then
    return 0
  fi
  echo "$output" | grep -v ' warnings\? .*generated\.$\|treated as errors\?$' || true
  return 1
}
export -f one_file sources_of

printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "${JOBS:-$(nproc)}" bash -c 'one_file "$0" "$1"' "$build" ||
  { echo "lint: clang-tidy found something, see above" >&2; exit 1; }
echo "lint: $(for file in "${files[@]}"; do sources_of "$file"; done | wc -l) files, nothing found"
