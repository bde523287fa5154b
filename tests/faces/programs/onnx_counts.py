# SPDX-License-Identifier: Apache-2.0
"""Runs a program of this folder, and then prints what libheadroom_onnx.so counted of the processor, -1, and of each of two GPUs.

    onnx_counts.py SCRIPT [ARGUMENTS]
"""
import atexit
import ctypes
import gc
import os
import pathlib
import runpy
import sys

from headroom_inject.library import Usage

COUNTS = ("allocations", "frees", "out_of_memory", "foreign_frees", "waits")


class Counts(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_uint64) for name in COUNTS]


def tell():
    library = ctypes.CDLL(os.environ["HEADROOM_ONNX_LIBRARY"])
    library.headroom_onnx_allocator.restype = ctypes.c_void_p
    gc.collect()
    for device in (-1, 0, 1):
        counts, usage = Counts(size=ctypes.sizeof(Counts)), Usage(size=ctypes.sizeof(Usage))
        assert library.headroom_onnx_get_counts(device, ctypes.byref(counts)) == 0
        if allocator := library.headroom_onnx_allocator(device):
            assert library.headroom_get_usage(ctypes.c_void_p(allocator), ctypes.byref(usage)) == 0
        figures = " ".join(f"{name} {getattr(counts, name)}" for name in COUNTS)
        print(f"gpu {device}: {figures} reserved {usage.reserved_bytes}")


atexit.register(tell)
sys.argv = [str(pathlib.Path(__file__).parent / sys.argv[1]), *sys.argv[2:]]
runpy.run_path(sys.argv[0], run_name="__main__").clear()
