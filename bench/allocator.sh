#!/usr/bin/env bash
# The allocator's benchmarks, then its bars as one table: bench/allocator.sh build/release/bin build/peers [OPTION...]
# Options are those of bench/allocator_table.py. PyTorch's own allocator is built into the second folder where it can be.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
bin=${1:?the folder of the programs, such as build/release/bin}
peers=${2:?the folder for the allocator of PyTorch, such as build/peers}
for program in "$bin"/allocator*_bench; do
  echo "== $(basename "$program")"
  "$program" --benchmark_counters_tabular=true
done
mkdir -p "$peers"
code=0
peer=$("$here/peers/build.sh" "$peers" 2>"$peers/reason") || code=$?
reason=$(<"$peers/reason")
case $code in
  0) with=(--peer "$peer") ;;
  77) with=(--no-peer "${reason#bench/peers: skipped: }") ;;
  *) echo "$reason" >&2; exit "$code" ;;
esac
echo "== the allocator's bars"
/usr/bin/python3 "$here/allocator_table.py" "$bin" "${with[@]}" "${@:3}"
