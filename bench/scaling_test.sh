#!/usr/bin/env bash
# scaling.py on a tiny problem: it must run through, measure what memory gives, and ask for processors by name, whatever
# else the machine has.
#   scaling_test.sh fedsinkhorn python3 fedsinkhorn-bench
set -euo pipefail
binary=$1
python=$2
bench=$3

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# In the program's place: writes down what it is asked for.
cat >"$folder/fedsinkhorn" <<END
#!/usr/bin/env bash
echo "\$*" >>"$folder/asked"
exec "$binary" "\$@"
END
chmod +x "$folder/fedsinkhorn"

"$python" "$(dirname "$0")/scaling.py" --binary "$folder/fedsinkhorn" --bench "$bench" --clients 2 --n 60 --rounds 1 |
  tee "$folder/printed"
grep -q 'read of K .* GB/s' "$folder/printed"
grep -q '^solve ' "$folder/asked"
if grep '^solve ' "$folder/asked" | grep -v -e '--backend cpu'; then
  echo "these do not say --backend cpu" >&2
  exit 1
fi
