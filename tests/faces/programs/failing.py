# SPDX-License-Identifier: Apache-2.0
"""An out of memory at a chosen allocation: a request that no GPU can serve is put to headroom's allocator at that moment, so
that the error is its own. For tests on on_cpu.py."""
import contextlib

import torch
from torch.utils._python_dispatch import TorchDispatchMode

import slots

_MORE_THAN_THERE_IS = 1 << 45


class _FailAt(TorchDispatchMode):
    def __init__(self, number, again):
        super().__init__()
        self.next, self._again = slots.counts().allocations + number, again

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if self.next is not None and slots.counts().allocations >= self.next:
            self.next = slots.counts().allocations + self._again if self._again else None
            self._again = None
            del result
            torch.empty(_MORE_THAN_THERE_IS, dtype=torch.uint8, device="cuda")
        return result


@contextlib.contextmanager
def at_allocation(number, again=None):
    """The number-th allocation inside fails, and once more the again-th after that. Yields what tells whether one has failed."""
    before = slots.counts().out_of_memory
    with _FailAt(number, again):
        yield lambda: slots.counts().out_of_memory > before
