# SPDX-License-Identifier: Apache-2.0
"""The functions of libheadroom_averager.so that a process group calls (include/headroom/averager.h)."""
import ctypes
import os

ABI = 1
AVERAGE, SUM, BROADCAST = 0, 1, 2
FLOAT32, BFLOAT16 = 0, 1
FINISH, FAIL = 0, 1


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("job", ctypes.c_uint64), ("rank", ctypes.c_uint32),
                ("ranks", ctypes.c_uint32), ("arena_bytes", ctypes.c_uint64), ("in_flight", ctypes.c_uint32),
                ("chunk_bytes", ctypes.c_uint32), ("policy", ctypes.c_uint32), ("background", ctypes.c_uint32),
                ("meet_ms", ctypes.c_uint32), ("silent_ms", ctypes.c_uint32), ("absent_ms", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32), ("pin", ctypes.c_void_p), ("unpin", ctypes.c_void_p), ("context", ctypes.c_void_p)]


class Bucket(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("kind", ctypes.c_uint32), ("type", ctypes.c_uint32), ("data", ctypes.c_void_p),
                ("elements", ctypes.c_uint64), ("root", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class Result(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("present", ctypes.c_uint32), ("lost", ctypes.c_uint32), ("joined", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32)]


class Averager:
    """One rank's place in a job. Calls block without Python's lock; one thread calls at a time. Failures are RuntimeErrors that
    say what was expected, what was found and what to do."""

    def __init__(self, path, name, rank, ranks, arena_bytes, timeout_ms, policy):
        self._functions = functions = ctypes.CDLL(path)
        functions.headroom_averager_open.restype = ctypes.c_void_p
        functions.headroom_averager_allocate.restype = ctypes.c_void_p
        functions.headroom_averager_last_error.restype = ctypes.c_char_p
        if functions.headroom_averager_abi() != ABI:
            raise RuntimeError(f"headroom: expected version {ABI} of {path}, found {functions.headroom_averager_abi()}")
        options = Options(size=ctypes.sizeof(Options), name=name.encode(), job=1, rank=rank, ranks=ranks, arena_bytes=arena_bytes,
                          in_flight=2, chunk_bytes=128 << 10, policy=policy, background=0, meet_ms=timeout_ms, silent_ms=10000,
                          absent_ms=timeout_ms)
        self._handle = functions.headroom_averager_open(ctypes.byref(options))
        if not self._handle:
            raise RuntimeError(self._last_error())
        self._unlink(name)

    @staticmethod
    def _unlink(name):
        """All ranks have met, and nobody is to join later: without a name nothing can be left behind, however the job ends."""
        try:
            os.unlink(f"/dev/shm/headroom-averager.{os.geteuid()}.{name}")
        except OSError:
            pass

    def allocate(self, size):
        """Memory of the segment, which is averaged where it is: its address."""
        memory = self._functions.headroom_averager_allocate(ctypes.c_void_p(self._handle), ctypes.c_uint64(size))
        if not memory:
            raise RuntimeError(self._last_error())
        return memory

    def run(self, kind, element, address, elements, root=0):
        """Returns how many ranks the result is of. Ranks that are lost end the job, or are left out, by the policy."""
        bucket = Bucket(size=ctypes.sizeof(Bucket), kind=kind, type=element, data=address, elements=elements, root=root)
        result = Result(size=ctypes.sizeof(Result))
        if self._functions.headroom_averager_run(ctypes.c_void_p(self._handle), ctypes.byref(bucket), ctypes.byref(result)) != 0:
            raise RuntimeError(self._last_error())
        return bin(result.present).count("1")

    def close(self):
        handle, self._handle = self._handle, None
        if handle:
            self._functions.headroom_averager_close(ctypes.c_void_p(handle))

    def _last_error(self):
        return "headroom: " + self._functions.headroom_averager_last_error().decode(errors="replace")
