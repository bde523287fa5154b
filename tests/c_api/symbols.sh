#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fails if the library shows other symbols than those of its header.
others=$(nm -D --defined-only "$1" | awk '$3 !~ /^headroom_/ && $3 !~ /^HEADROOM_ALLOCATOR_1/ { print $3 }')
[ -z "$others" ] || { echo "also visible: $others" >&2; exit 1; }
[ "$(nm -D --defined-only "$1" | grep -c ' T headroom_')" -gt 20 ]
