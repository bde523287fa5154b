# SPDX-License-Identifier: Apache-2.0
"""llama.cpp of cyllama-rocm, which is linked to the runtime; `headroom run --allocator` starts it. Every hipMalloc is
headroom's, with its free, and a refused one is llama.cpp's own out of memory.

    hip_llama.py MODEL answers | is_refused
"""
import gc
import sys

from cyllama.api import GenerationConfig, LLM

import hip_counts

model, expected = sys.argv[1:]
failure = None
try:
    tokens = 128 if expected == "answers" else 65536  # The latter take 32 MiB of keys and values.
    llm = LLM(model, config=GenerationConfig(max_tokens=4, n_gpu_layers=99, n_ctx=tokens), verbose=True)
    llm("hello")
    llm.close()
    del llm  # The weights.
    gc.collect()
except Exception as error:  # pylint: disable=broad-except  (whatever it raises is shown)
    failure = error
found = hip_counts.of_headroom()
print(found, repr(failure), "launches", hip_counts.of_stand_in("launches"))
if expected == "answers":
    assert failure is None, failure
    assert found["allocations"] >= 3 and found["frees"] == found["allocations"], found
    assert found["out_of_memory"] == found["refused_frees"] == found["passed_on"] == 0, found
    assert hip_counts.of_stand_in("launches") > 0
else:
    assert failure is not None and found["out_of_memory"] > 0 and found["passed_on"] == 0, found
