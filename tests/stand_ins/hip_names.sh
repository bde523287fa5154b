#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hip_names.sh LIBRARY NAMES: fails if the stand-in for HIP shows other functions or version nodes than the list.
list() { LC_ALL=C sort; }
expected=$(grep -v '^#' "$2" | tr ' ' '@' | list)
found=$(nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | grep -v '^fake_gpu_' | sed 's/@@/@/' | list)
[ "$found" = "$expected" ] || { echo "expected the functions of $2; found others in $1" >&2; exit 1; }
