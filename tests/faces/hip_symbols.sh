#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hip_symbols.sh LIBRARY interposed_names.h [preload]: fails if the library shows other symbols than it interposes and its
# own, or gives them a version: then they would not answer to the version nodes of libamdhip64.
#
# preload: it is libheadroom_preload.so. dlsym has the two versions of glibc and is the default of neither, and nothing but
# the C library is needed, of no younger version than any program's.
own="dlsym headroom_hip_answer_dlsym headroom_hip_get_counts headroom_hip_take_table rocprofiler_register_library_api_table"
[ "$3" != preload ] || own="dlsym@GLIBC_2.2.5 dlsym@GLIBC_2.34 GLIBC_2.2.5 GLIBC_2.34 rocprofiler_register_library_api_table"
sorted() { tr ' ' '\n' | grep . | LC_ALL=C sort; }
names=$(sed -n 's/^  DO(\(hip[A-Za-z0-9]*\), .*/\1/p' "$2")
[ -n "$names" ] || { echo "expected DO(hip...) in $2, found none" >&2; exit 1; }
expected=$(printf "%s\n%s" "$own" "$names" | sorted)
found=$(nm -D --defined-only "$1" | awk '{ print $3 }' | sorted)
[ "$found" = "$expected" ] || { echo "expected $expected; found $found" >&2; exit 1; }
[ "$3" = preload ] || exit 0
needed=$(readelf -dW "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[ "$needed" = libc.so.6 ] || { echo "expected libc.so.6 to be needed alone; found $needed" >&2; exit 1; }
young=$(nm -D --undefined-only "$1" | awk '/@/ { print $2 }' | grep -v -e '@GLIBC_2\.2\.5$' -e '@GLIBC_2\.14$')
[ -z "$young" ] || { echo "expected functions of glibc 2.14 at most; found $young" >&2; exit 1; }
