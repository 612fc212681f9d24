#!/usr/bin/env bash
# Runs .ci/run on a clean clone of HEAD, as those will who take the change. If all passes, build/ci-passed names the
# commit. Uncommitted changes are not in it.
#   scripts/check.sh
set -euo pipefail
cd "$(dirname "$0")/.."

commit=$(git rev-parse HEAD)
[[ -z $(git status --porcelain) ]] || echo "check: uncommitted changes are left out; this checks $commit" >&2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git clone --quiet . "$folder/fedsinkhorn"
# The caller's make would hand its own jobs and variables down.
env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS bash "$folder/fedsinkhorn/.ci/run" < /dev/null
mkdir -p build
echo "$commit" > build/ci-passed.new
mv build/ci-passed.new build/ci-passed
