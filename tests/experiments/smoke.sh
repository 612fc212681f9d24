#!/usr/bin/env bash
# A study at its smallest: it is listed, runs, and has a page without a note.
#   tests/experiments/smoke.sh EXPERIMENTS PROGRAM NAME [again]      again: started once more, it measures nothing
set -euo pipefail
experiments=$1 program=$2 name=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "FAILED: $*"
  exit 1
}

"$experiments" list | grep -q "^$name " || fail "'list' does not name it"
"$experiments" "$name" --scale smoke --output "$folder"
if [[ ${4:-} == again ]]; then
  "$experiments" "$name" --scale smoke --output "$folder" | grep -q "^$name: 0 cells measured, " ||
    fail "a second run measures cells again"
fi
notes=$("$program" report "$folder/$name" 2>&1 > /dev/null | grep -v 'Charts are left out' || true)
[[ -z $notes ]] || fail "the page has notes: $notes"
grep -q '<table>' "$folder/$name/report.html" || fail "the page has no table"
! grep -q '<td[^>]*>not measured</td>' "$folder/$name/report.html" || fail "a figure is not measured"
