# SPDX-License-Identifier: Apache-2.0
"""CuPy for ROCm, which is linked to the runtime and has a pool of its own; `headroom run --allocator` starts it. Every
hipMalloc is headroom's, with its free, bytes come back, and a refused one is CuPy's own error. Its kernels need hiprtc and
are not run."""
import cupy
import numpy

import hip_counts

assert cupy.cuda.runtime.is_hip
sent = numpy.arange(1 << 20, dtype=numpy.float32)
array = cupy.asarray(sent)
assert (array.get() == sent).all()
other = cupy.empty((512, 512), dtype=cupy.float32)
try:
    cupy.empty((1 << 34,), dtype=cupy.uint8)
    raise SystemExit("16 GiB were given out")
except cupy.cuda.memory.OutOfMemoryError as error:
    print(error)
assert (array.get() == sent).all()
del array, other
cupy.get_default_memory_pool().free_all_blocks()
cupy.get_default_pinned_memory_pool().free_all_blocks()
found = hip_counts.of_headroom()
print(found)
assert found["allocations"] >= 2 and found["frees"] == found["allocations"], found
assert found["out_of_memory"] > 0 and found["refused_frees"] == found["passed_on"] == 0, found
