#!/usr/bin/env bash
# The tests that do arithmetic (label "arithmetic"), under instruction sets other than the best of this machine.
#   scripts/test-simd.sh [build folder [variant ...]]      default: every variant this machine has but the best
# One that this machine cannot run, and the best, are skipped. TEST_JOBS=n: that many tests at once. That the variant
# asked for is the one that runs is itself a test: SimdChoice and SimdTest compare it with the variable.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:-build}
shift $(($# > 0))
read -ra available < <(env -u FEDSINKHORN_SIMD "$build/fedsinkhorn" info |
  sed -n 's/^simd *\(.*\) (best first).*/\1/p' | tr -d ,)
((${#available[@]})) || { echo "test-simd: '$build/fedsinkhorn info' does not say what there is" >&2; exit 1; }
if (($#)); then wanted=("$@"); else wanted=("${available[@]:1}"); fi

# OpenBLAS chooses for itself: it is told to take what a processor of that kind would get.
declare -A blas=([avx2]=Haswell [sse4]=Nehalem [baseline]=Prescott)

for variant in "${wanted[@]}"; do
  if [[ " ${available[*]} " != *" $variant "* ]]; then
    echo "=== test-simd: $variant skipped, this machine has ${available[*]}"
    continue
  fi
  if [[ $variant == "${available[0]}" ]]; then
    echo "=== test-simd: $variant skipped, it is the best here, which 'make test' runs"
    continue
  fi
  echo "=== test-simd: $variant"
  FEDSINKHORN_SIMD=$variant OPENBLAS_CORETYPE=${blas[$variant]:-} \
    ctest --test-dir "$build" --output-on-failure -L arithmetic \
      -j "${TEST_JOBS:-2}"
done
