# SPDX-License-Identifier: Apache-2.0
"""The functions of libheadroom_torch.so, and of the allocator below it, that Python calls (headroom_torch.h,
headroom/allocator.h). Sizes are bytes, devices are numbers as PyTorch counts them."""
import ctypes
import os
import pickle
import tempfile

ABI = 1
COMPONENTS = 9


def _struct(name, fields):
    return type(name, (ctypes.Structure,), {"_fields_": [("size", ctypes.c_size_t)] + [
        field if isinstance(field, tuple) else (field, ctypes.c_uint64) for field in fields]})


Counts = _struct("Counts", ["allocations", "frees", "allocated_bytes", "freed_bytes", "out_of_memory", "foreign_frees",
                           "reserve_bytes"])
Usage = _struct("Usage", ["capacity_bytes", "live_bytes", "live_peak_bytes", "reserved_bytes", "reserved_peak_bytes",
                          ("live_by_component", ctypes.c_uint64 * COMPONENTS), ("live_at_peak", ctypes.c_uint64 * COMPONENTS),
                          "device_calls"])
Stats = _struct("Stats", ["growths", "repairs", "moved_pages", "flushes", "waits", "misused", "iterations", "plans",
                          "planned", "broken_plans"])


class Unusable(Exception):
    """Why the library cannot serve this process."""


class Library:
    """Raises OSError if the file cannot be loaded, AttributeError if it lacks a function, Unusable if it refuses."""

    def __init__(self, path):
        self._functions = ctypes.CDLL(path)
        self._functions.headroom_torch_allocator.restype = ctypes.c_void_p
        self._functions.headroom_last_error.restype = ctypes.c_char_p
        self._functions.headroom_torch_keep_reserve.restype = ctypes.c_uint64
        if self._functions.headroom_torch_abi() != ABI:
            raise Unusable(f"expected version {ABI} of {path}, found {self._functions.headroom_torch_abi()}")
        text = ctypes.create_string_buffer(1000)
        if self._functions.headroom_torch_check(text, ctypes.c_size_t(len(text))) != 1:
            raise Unusable(text.value.decode(errors="replace"))

    def address(self, name):
        return ctypes.cast(getattr(self._functions, name), ctypes.c_void_p).value

    def set_gpu_target(self, device, target):
        self._functions.headroom_torch_set_gpu_target(device, target.encode())

    def counts(self, device):
        counts = Counts(size=ctypes.sizeof(Counts))
        self._check(self._functions.headroom_torch_get_counts(device, ctypes.byref(counts)))
        return counts

    def keep_reserve(self, device, size):
        """Holds so many bytes back, in place of those before; returns how many are held."""
        return self._functions.headroom_torch_keep_reserve(device, ctypes.c_uint64(size))

    def open_reserve(self, device):
        """From now on an allocation that fails takes what is held."""
        self._functions.headroom_torch_open_reserve(device)

    def usage(self, device):
        """All zero before the device's first block, as PyTorch's own figures are."""
        return self._ask(device, self._functions.headroom_get_usage, Usage(size=ctypes.sizeof(Usage)))

    def stats(self, device):
        return self._ask(device, self._functions.headroom_get_stats, Stats(size=ctypes.sizeof(Stats)))

    def room(self, device):
        """How much can become live besides what is; None before the device's first block."""
        handle = self._handle(device)
        if handle is None:
            return None
        answer = ctypes.c_uint64()
        self._check(self._functions.headroom_get_room(handle, ctypes.byref(answer)))
        return answer.value

    def reset_peaks(self, device):
        if handle := self._handle(device):
            self._check(self._functions.headroom_reset_peaks(handle))

    def snapshot(self, device):
        """In the format of torch.cuda.memory._snapshot(); None before the device's first block."""
        handle = self._handle(device)
        if handle is None:
            return None
        with tempfile.TemporaryDirectory(prefix="headroom-") as folder:
            path = os.path.join(folder, "snapshot.pickle")
            self._check(self._functions.headroom_write_snapshot(handle, os.fsencode(path)))
            with open(path, "rb") as file:
                return pickle.load(file)

    def _handle(self, device):
        handle = self._functions.headroom_torch_allocator(device)
        return ctypes.c_void_p(handle) if handle else None

    def _ask(self, device, function, answer):
        if handle := self._handle(device):
            self._check(function(handle, ctypes.byref(answer)))
        return answer

    def _check(self, result):
        if result != 0:
            raise RuntimeError(f"headroom: {self._functions.headroom_last_error().decode(errors='replace')}")
