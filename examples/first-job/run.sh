#!/usr/bin/env bash
# The whole road on one small job: look at this machine, plan the job, train it inside its memory cap, compare
# predicted with measured memory, and replay the same allocations under PyTorch's rules.
#
#   examples/first-job/run.sh FOLDER_WITH_THE_PROGRAMS [OUTPUT_FOLDER]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$(cd "$1" && pwd)
output=${2:-build/first-job}
capacity=$(sed -n 's/^capacity = "\(.*\)"/\1/p' "$here/job.toml")

title() { printf '\n\033[1m%s\033[0m\n\n' "$*"; }
[[ -t 1 ]] || title() { printf '\n== %s\n\n' "$*"; }

title "1. This machine"
"$bin/headroom" check || [[ $? -eq 1 ]]   # Findings about the machine do not stop a job on the CPU.

title "2. The plan of examples/first-job/job.toml"
"$bin/headroom" plan "$here/job.toml"

title "3. The training, inside $capacity"
rm -rf "$output"
"$bin/headroom" run "$here/job.toml" --output "$output" --trace "$output.trace"

title "4. The same allocations under other allocators, inside $capacity"
"$bin/headroom" replay "$output.trace" --policy headroom --policy torch --capacity "$capacity" || [[ $? -eq 1 ]]

printf '\nEverything the run wrote is in %s: report.json, metrics.jsonl, the model.\n' "$output"
