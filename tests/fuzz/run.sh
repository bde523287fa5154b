#!/usr/bin/env bash
# Runs every fuzzer in BIN_DIR for SECONDS each, on its seeds and on what it learns on the way.
#
#   tests/fuzz/run.sh BIN_DIR SECONDS     exit 0: nothing found; 1: an input that breaks a parser, or the
#                                         canary's planted bug was not found; 2: wrong usage
set -uo pipefail

if [[ $# -ne 2 || ! -x $1/fuzz_canary || ! $2 =~ ^[1-9][0-9]*$ ]]; then
  echo "usage: tests/fuzz/run.sh BIN_DIR SECONDS, with the fuzzers in BIN_DIR; ./dev fuzz SECONDS builds them" >&2
  exit 2
fi
bin=$(cd "$1" && pwd)
seconds=$2
seeds=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/corpus
found=$(dirname "$bin")/found  # inputs that broke something stay here
learned=$(mktemp -d)
trap 'rm -rf "$learned"' EXIT
mkdir -p "$found"

# fuzz NAME: its exit status; the log is left in $learned/NAME.log.
fuzz() {
  local name=$1
  mkdir -p "$learned/$name"
  "$bin/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=4096 \
    -print_final_stats=1 -artifact_prefix="$found/$name-" "$learned/$name" "$seeds/$name" \
    >"$learned/$name.log" 2>&1
}

figure() { sed -n "s/^stat::$2: *//p" "$learned/$1.log"; }

broken=0
for program in "$bin"/fuzz_*; do
  name=${program##*/fuzz_}
  [[ $name == canary ]] && continue
  if fuzz "$name"; then
    printf 'fuzz: %-14s nothing found in %9d inputs (%d MB at most)\n' \
      "$name" "$(figure "$name" number_of_executed_units)" "$(figure "$name" peak_rss_mb)"
  else
    broken=$((broken + 1))
    printf 'fuzz: %-14s BROKEN\n' "$name"
    grep -E '^SUMMARY|ERROR:|runtime error|Test unit written' "$learned/$name.log" | sed 's/^/        /'
    echo "      again with: $program $found/$name-*"
  fi
done

if fuzz canary; then
  echo "fuzz: canary         BROKEN: its planted bug was not found, so the silence above means nothing"
  broken=$((broken + 1))
else
  echo "fuzz: canary         planted bug found, as it must be"
  rm -f "$found"/canary-*
fi
[[ $broken -eq 0 ]]
