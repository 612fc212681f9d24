#!/usr/bin/env bash
# Runs every study, makes its records those of docs/reproduction, and writes docs/reproduction.md and a page of charts.
#   scripts/reproduce.sh BUILD [SCALE]
# Records are kept in BUILD/reproduction: a run that was stopped goes on where it was. To measure anew, remove that folder.
set -euo pipefail
export LC_ALL=C  # the order of files
build=$1
scale=${2:-machine}
records=$build/reproduction
docs=$(dirname "$0")/../docs

started=$SECONDS
"$build/fedsinkhorn-experiments" all --scale "$scale" --output "$records"
rm -rf "$docs/reproduction"
for study in "$records"/*/; do
  mkdir -p "$docs/reproduction/$(basename "$study")"
  cp "$study/study.json" "$docs/reproduction/$(basename "$study")/"
  cat "$study"/cells/*.json > "$docs/reproduction/$(basename "$study")/cells.jsonl"  # one line per record
done
"$build/fedsinkhorn-experiments" markdown "$docs/reproduction" --output "$docs/reproduction.md"
"$build/fedsinkhorn" report "$docs/reproduction" -o "$build/reproduction.html"
echo "reproduce: all studies in $((SECONDS - started)) s; docs/reproduction.md"
