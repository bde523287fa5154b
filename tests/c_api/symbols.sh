#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# symbols.sh LIBRARY PREFIX COUNT: fails if the library shows other symbols than COUNT functions of its header and the
# version that they have, which is the prefix in capitals.
node=$(printf %s "$2" | tr '[:lower:]' '[:upper:]')
others=$(nm -D --defined-only "$1" | awk -v prefix="^$2" -v node="^$node" '$3 !~ prefix && $3 !~ node { print $3 }')
[ -z "$others" ] || { echo "also visible: $others" >&2; exit 1; }
[ "$(nm -D --defined-only "$1" | grep -c " T $2")" -eq "$3" ]
