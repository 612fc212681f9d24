#!/usr/bin/env bash
# scaling.py on a tiny problem: it must run through, and ask for processors by name, whatever else the machine has.
#   scaling_test.sh fedsinkhorn python3
set -euo pipefail
binary=$1
python=$2

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# In the program's place: writes down what it is asked for.
cat >"$folder/fedsinkhorn" <<END
#!/usr/bin/env bash
echo "\$*" >>"$folder/asked"
exec "$binary" "\$@"
END
chmod +x "$folder/fedsinkhorn"

"$python" "$(dirname "$0")/scaling.py" --binary "$folder/fedsinkhorn" --clients 2 --n 60 --rounds 1
grep -q '^solve ' "$folder/asked"
if grep '^solve ' "$folder/asked" | grep -v -e '--backend cpu'; then
  echo "these do not say --backend cpu" >&2
  exit 1
fi
