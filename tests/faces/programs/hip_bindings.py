# SPDX-License-Identifier: Apache-2.0
"""AMD's own binding of HIP for Python, which opens the runtime and asks for functions by name; `headroom run
--allocator` starts it. Every hipMalloc is headroom's, with its free, and a refused one is the binding's own out of memory."""
from rocm.bindings import hip

import hip_counts


def checked(answer):
    assert answer[0] == hip.hipError_t.hipSuccess, answer
    return answer[1] if len(answer) > 1 else None


blocks = [checked(hip.hipMalloc(1 << 20)) for _ in range(8)]
refused = hip.hipMalloc(1 << 40)[0]
assert refused == hip.hipError_t.hipErrorOutOfMemory, refused
assert hip.hipGetLastError()[0] == refused
for block in blocks:
    checked(hip.hipFree(block))
found = hip_counts.of_headroom()
assert found == {"allocations": 8, "frees": 8, "out_of_memory": 1, "refused_frees": 0, "passed_on": 0}, found
print(found)
