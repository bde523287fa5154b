# SPDX-License-Identifier: Apache-2.0
"""What PyTorch tells of its memory, from headroom's figures.

With an allocator that is plugged in, PyTorch's own functions raise: memory_allocated(), memory_stats(), memory_summary(),
memory_snapshot() and others. All of them ask a few functions of torch._C, which are replaced here; everything above them,
with its arguments and its text, stays PyTorch's. The keys are those of torch.cuda.memory_stats().

headroom has one pool for all sizes and splits nothing for good, so PyTorch's small_pool, oversize and segment figures
are 0, and what is reserved but not allocated is inactive_split_bytes. Numbers of blocks have no peak of their own.
"""
import functools

from headroom_inject.library import Counts
from headroom_inject.messages import say

_NOTHING = {"current": 0, "peak": 0, "allocated": 0, "freed": 0}


def _figure(current, peak, allocated=0, freed=0):
    return {"current": current, "peak": peak, "allocated": allocated, "freed": freed}


def _pools(all_sizes):
    return {"all": all_sizes, "small_pool": dict(_NOTHING), "large_pool": dict(all_sizes)}


def nested_stats(usage, stats, counts, before):
    """As torch._C._cuda_memoryStats() returns them; `before`: the counts when the totals were reset."""
    held = counts.allocations - counts.frees
    allocated = counts.allocated_bytes - before.allocated_bytes
    freed = counts.freed_bytes - before.freed_bytes
    blocks = _figure(held, held, counts.allocations - before.allocations, counts.frees - before.frees)
    live = _figure(usage.live_bytes - counts.reserve_bytes, usage.live_peak_bytes, allocated, freed)
    asked = _figure(counts.allocated_bytes - counts.freed_bytes, usage.live_peak_bytes, allocated, freed)
    idle = usage.reserved_bytes - usage.live_bytes
    return {
        "allocation": _pools(blocks),
        "active": _pools(blocks),
        "segment": _pools(dict(_NOTHING)),
        "inactive_split": _pools(dict(_NOTHING)),
        "allocated_bytes": _pools(live),
        "active_bytes": _pools(live),
        "requested_bytes": _pools(asked),
        "reserved_bytes": _pools(_figure(usage.reserved_bytes, usage.reserved_peak_bytes)),
        "inactive_split_bytes": _pools(_figure(idle, idle)),
        "oversize_allocations": dict(_NOTHING),
        "oversize_segments": dict(_NOTHING),
        "num_alloc_retries": stats.flushes,
        "num_ooms": counts.out_of_memory - before.out_of_memory,
        "num_sync_all_streams": stats.waits,
        "num_device_alloc": stats.growths,
        "num_device_free": stats.flushes,
        "max_split_size": -1,
    }


class _Calls:
    """The functions that take the place of torch._C's; each is named as there."""

    def __init__(self, torch, library):
        self._torch, self._library = torch, library
        self._set_fraction = torch._C._cuda_setMemoryFraction
        self._fractions, self._before = {}, {}

    def _expect_gpu(self, device):
        if not 0 <= device < self._torch.cuda.device_count():
            raise RuntimeError(f"Invalid device argument {device}: there are {self._torch.cuda.device_count()} GPUs")

    def _stats(self, device):
        self._expect_gpu(device)
        library = self._library
        return nested_stats(library.usage(device), library.stats(device), library.counts(device),
                            self._before.get(device, Counts()))

    def _reset_peaks(self, device):
        self._expect_gpu(device)
        self._library.reset_peaks(device)

    def _reset_totals(self, device):
        self._expect_gpu(device)
        self._before[device] = self._library.counts(device)

    def _cuda_memoryStats(self, device):
        return self._stats(device)

    def _cuda_resetPeakMemoryStats(self, device):
        self._reset_peaks(device)

    def _cuda_resetAccumulatedMemoryStats(self, device):
        self._reset_totals(device)

    def _cuda_setMemoryFraction(self, fraction, device):
        self._set_fraction(fraction, device)
        self._fractions[device] = fraction

    def _cuda_getMemoryFraction(self, device):
        return self._fractions.get(device, 1.0)

    def _cuda_memorySnapshot(self, *_):
        found = self._library.snapshot(self._torch.cuda.current_device())
        return found or {"segments": [], "device_traces": [], "allocator_settings": {}}

    def _cuda_record_memory_history(self, enabled, *_, **__):
        if enabled:
            say("_record_memory_history() records nothing; headroom's own recording: HEADROOM_ALLOCATOR_RECORDINGS=FOLDER")

    def _cuda_record_memory_history_legacy(self, enabled, *_, **__):
        self._cuda_record_memory_history(enabled)

    def _cuda_attach_out_of_memory_observer(self, _):
        say("an observer of out-of-memory errors is not called; headroom's report is in the error's own text")

    def _accelerator_isAllocatorInitialized(self):
        """Else torch.accelerator tells zeros without asking."""
        return True

    def _accelerator_getDeviceStats(self, device):
        return self._stats(device)

    def _accelerator_resetPeakStats(self, device):
        self._reset_peaks(device)

    def _accelerator_resetAccumulatedStats(self, device):
        self._reset_totals(device)


def _tell_room(torch, library):
    """torch.cuda.mem_get_info(), by which programs choose how much to take: no more than headroom would give."""
    ask_driver = torch.cuda.mem_get_info

    @functools.wraps(ask_driver)
    def mem_get_info(device=None):
        free, total = ask_driver(device)
        number = torch.cuda._utils._get_device_index(device, optional=True)
        room = library.room(number)
        return (free if room is None else min(free, room)), total

    torch.cuda.mem_get_info = torch.cuda.memory.mem_get_info = mem_get_info


def replace_memory_calls(torch, library):
    """Replaces those that this PyTorch has."""
    _tell_room(torch, library)
    calls = _Calls(torch, library)
    for name in dir(calls):
        if name.startswith(("_cuda_", "_accelerator_")) and hasattr(torch._C, name):
            setattr(torch._C, name, getattr(calls, name))
