#!/usr/bin/env bash
# docs/reproduction.md is what the records in docs/reproduction say, to the byte.
#   tests/experiments/reproduction.sh EXPERIMENTS SOURCE
set -euo pipefail
page=$(mktemp)
trap 'rm -f "$page"' EXIT
"$1" markdown "$2/docs/reproduction" --output "$page"
diff "$2/docs/reproduction.md" "$page" ||
  { echo "FAILED: docs/reproduction.md differs from its records: run 'make reproduction-page'"; exit 1; }
