#!/usr/bin/env bash
# Runs every benchmark in a folder of programs: bench/run.sh build/release/bin
set -euo pipefail
for program in "${1:?the folder of the programs, such as build/release/bin}"/*_bench; do
  echo "== $(basename "$program")"
  "$program" --benchmark_counters_tabular=true
done
if [[ -x $1/headroom-train ]]; then
  echo "== headroom-train, with headroom's allocator and with libtorch's"
  "$(dirname "${BASH_SOURCE[0]}")/training_speed.py" "$1"
fi
echo "== headroom run, beside cat"
"$(dirname "${BASH_SOURCE[0]}")/run_rate.py" "$1"
