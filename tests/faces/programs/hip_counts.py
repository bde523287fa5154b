# SPDX-License-Identifier: Apache-2.0
"""What libheadroom_hip.so and the stand-in for HIP counted in this process."""
import ctypes
import os


class Counts(ctypes.Structure):  # HeadroomHipCounts
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_uint64) for name in (
        "allocations", "frees", "out_of_memory", "refused_frees", "passed_on")]


def of_headroom():
    counts = Counts(ctypes.sizeof(Counts))
    library = ctypes.CDLL("libheadroom_hip.so", mode=os.RTLD_NOW | os.RTLD_NOLOAD)  # It was opened at the first call.
    assert library.headroom_hip_get_counts(ctypes.byref(counts)) == 0
    return {name: getattr(counts, name) for name, _ in Counts._fields_[1:]}


def of_stand_in(what):
    count = ctypes.CDLL("libamdhip64.so.7").fake_gpu_count
    count.restype = ctypes.c_uint64
    return count(0, what.encode())
