# SPDX-License-Identifier: Apache-2.0
"""An out of memory at a chosen allocation: a request that no GPU can serve is put to headroom's allocator at that moment, so
that the error is its own. For tests on on_cpu.py."""
import contextlib

import torch
from torch.utils._python_dispatch import TorchDispatchMode

import slots
from headroom_inject.library import Library

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


class _Reserve:
    """Whether headroom has opened its reserve, as its own calls say."""
    is_open = False


def _followed(function, opens):
    def call(*args):
        _Reserve.is_open = opens
        return function(*args)
    return call


Library.open_reserve = _followed(Library.open_reserve, True)
Library.keep_reserve = _followed(Library.keep_reserve, False)


class _FullAt(TorchDispatchMode):
    """After the number-th allocation the GPU has nothing left, until an allocation has failed."""

    def __init__(self, number):
        super().__init__()
        self._first, self._taken, self._failures, self._reserve = slots.counts().allocations + number, [], None, 0

    def _take_all(self):
        """All but headroom's reserve, which is closed for that moment."""
        size, self._reserve, was_open = 1 << 29, slots.counts().reserve_bytes, _Reserve.is_open
        slots.library().keep_reserve(0, self._reserve)
        while size >= 512:
            try:
                self._taken.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
            except torch.OutOfMemoryError:
                size //= 2
        if was_open:
            slots.library().open_reserve(0)
        self._failures = slots.counts().out_of_memory

    def has_failed(self):
        if self._failures is None:
            return False
        counts = slots.counts()
        return counts.out_of_memory > self._failures or counts.reserve_bytes < self._reserve

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if self.has_failed() and slots.counts().out_of_memory > self._failures:
            self._taken = None  # Whoever took it has gone.
        result = func(*args, **(kwargs or {}))
        if self._taken is not None and slots.counts().allocations >= self._first and not self.has_failed():
            self._take_all()
        return result


@contextlib.contextmanager
def full_at_allocation(number):
    """Yields what tells whether an allocation has failed since, or headroom's reserve was taken."""
    mode = _FullAt(number)
    with mode:
        yield mode.has_failed
