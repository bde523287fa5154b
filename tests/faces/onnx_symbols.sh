#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# onnx_symbols.sh LIBRARY: fails if the library shows other symbols than the functions of its header.
expected="CreateEpFactories HEADROOM_ONNX_1 ReleaseEpFactory headroom_onnx_abi headroom_onnx_allocator headroom_onnx_check \
headroom_onnx_get_callbacks headroom_onnx_get_counts headroom_onnx_register_cpu"
found=$(nm -D --defined-only "$1" | awk '{ sub("@.*", "", $3); print $3 }' | LC_ALL=C sort | tr '\n' ' ')
[ "$found" = "$expected " ] || { echo "expected $expected; found $found" >&2; exit 1; }
