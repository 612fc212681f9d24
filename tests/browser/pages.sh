#!/usr/bin/env bash
# Reports of real runs, looked at by a real browser.
#   tests/browser/pages.sh PROGRAM FOLDER CHARTS
# Runs the program, writes the pages to FOLDER and screenshots to FOLDER/screenshots. CHARTS: the chart library, for sample
# pages. Exit status 77: skipped, as Chromium or what npm installs is not there; 1 if BROWSER_TESTS is "required".
set -euo pipefail
program=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
export CHART_LIBRARY=$(realpath "$3")
here=$(dirname "$(realpath "$0")")

skip() {
  echo "skipped: $1"
  [[ ${BROWSER_TESTS:-} == required ]] && exit 1
  exit 77
}
command -v node > /dev/null || skip "there is no node"
[[ -d $here/node_modules ]] || skip "run 'make test-browser', which installs what this needs"
[[ -s $CHART_LIBRARY ]] || skip "this build has no charts"

cd "$folder"
rm -rf demo delays private explained runs images market risk '<b>odd<script>' screenshots -- *.html
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
  python3 "$here/images.py" ring.npy spots.npy
  "$program" solve --images ring.npy spots.npy --normalize --epsilon 0.002 --report --output images
  "$program" generate-market --days 300 --scenarios 400 --output market
  "$program" risk --returns 'market/returns-{client}.csv' --clients 5 --scenarios market/scenarios.csv \
    --weights market/weights.csv --gains --stay --radius 1e-4 --epsilon 1e-4 --radius-sweep --output risk
} > log 2>&1 || { cat log; exit 1; }
pages=()
for run in demo delays private explained runs images risk; do
  "$program" report $run -o $run.html >> log 2>&1
  pages+=("$folder/$run.html")
done
# Studies as they were measured.
studies=$here/../../docs/reproduction
for study in robustness delays toy-portfolio; do
  "$program" report "$studies/$study" -o study-$study.html >> log 2>&1
  pages+=("$folder/study-$study.html")
done
"$program" report '<b>odd<script>' -o odd.html >> log 2>&1
pages+=("$folder/odd.html")
status=0
node "$here/run.mjs" "${pages[@]}" --samples --screenshots "$folder/screenshots" || status=$?
((status != 77)) || skip "see above"
exit $status
