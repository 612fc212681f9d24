#!/usr/bin/env bash
# Reports of real runs, looked at by a real browser.
#   tests/browser/pages.sh PROGRAM FOLDER
# Runs the program, writes the pages to FOLDER and screenshots to FOLDER/screenshots. Exit status 77: skipped, as Chromium
# or what npm installs is not there.
set -euo pipefail
program=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
here=$(dirname "$(realpath "$0")")

command -v node > /dev/null || { echo "skipped: there is no node"; exit 77; }
[[ -d $here/node_modules ]] || { echo "skipped: run 'make test-browser', which installs what this needs"; exit 77; }

cd "$folder"
rm -rf demo delays private explained runs market risk '<b>odd<script>' screenshots -- *.html
{
  "$program" demo --output demo
  "$program" generate --kind clusters --rows 300 --columns 300 --output square
  "$program" solve --points square/X.npy square/Y.npy --epsilon 0.05 --clients 4 --topology async --output delays
  "$program" solve --points square/X.npy square/Y.npy --epsilon 0.05 --clients 3 --explain --report --output explained
  "$program" solve --points square/X.npy square/Y.npy --epsilon 0.05 --clients 3 --policy private --budget 5,1e-4 \
    --output private --report
  "$program" solve --points square/X.npy square/Y.npy --epsilon 0.05 --output '<b>odd<script>' --report
  for epsilon in 0.1 0.01; do
    "$program" solve --points square/X.npy square/Y.npy --epsilon $epsilon --output runs/epsilon-$epsilon
  done
  "$program" generate-market --days 300 --scenarios 400 --output market
  "$program" risk --returns 'market/returns-{client}.csv' --clients 5 --scenarios market/scenarios.csv \
    --weights market/weights.csv --gains --stay --radius 1e-4 --epsilon 1e-4 --radius-sweep --output risk
} > log 2>&1 || { cat log; exit 1; }
pages=()
for run in demo delays private explained runs risk; do
  "$program" report $run -o $run.html >> log 2>&1
  pages+=("$folder/$run.html")
done
"$program" report '<b>odd<script>' -o odd.html >> log 2>&1
pages+=("$folder/odd.html")
exec node "$here/run.mjs" "${pages[@]}" --samples --screenshots "$folder/screenshots"
