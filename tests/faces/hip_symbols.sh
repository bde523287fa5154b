#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hip_symbols.sh LIBRARY: fails if the library shows other symbols than it interposes and its own, or gives them a
# version: then they would not answer to the version nodes of libamdhip64.
expected="dlsym headroom_hip_get_counts hipDeviceReset hipExtMallocWithFlags hipFree hipFreeAsync hipGetLastError \
hipGetProcAddress hipIpcGetMemHandle hipMalloc hipMallocAsync hipMallocFromPoolAsync hipMemGetInfo hipMemPoolSetAccess \
hipPeekAtLastError hipStreamDestroy"
sorted() { tr ' ' '\n' | grep . | LC_ALL=C sort; }
found=$(nm -D --defined-only "$1" | awk '{ print $3 }' | sorted)
[ "$found" = "$(echo "$expected" | sorted)" ] || { echo "expected $expected; found $found" >&2; exit 1; }
