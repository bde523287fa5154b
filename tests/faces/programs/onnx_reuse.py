# SPDX-License-Identifier: Apache-2.0
"""Memory that ONNX Runtime gave back while work on it was queued is given out again only when that work is done. On a GPU
that does nothing before somebody waits, a block that is given out too early has the bytes of the old work."""
import ctypes
import os

MIB = 1 << 20
NON_BLOCKING = 1
hip = ctypes.CDLL("libamdhip64.so.7")
library = ctypes.CDLL(os.environ["HEADROOM_ONNX_LIBRARY"])


class Callbacks(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("allocate", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)),
                ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)), ("empty_cache", ctypes.CFUNCTYPE(None))]


def check(code):
    assert code == 0, code


callbacks = Callbacks(size=ctypes.sizeof(Callbacks))
assert library.headroom_onnx_get_callbacks(16, ctypes.byref(callbacks)) != 0
check(library.headroom_onnx_get_callbacks(1, ctypes.byref(callbacks)))
check(hip.hipSetDevice(1))
stream = ctypes.c_void_p()
check(hip.hipStreamCreateWithFlags(ctypes.byref(stream), NON_BLOCKING))
check(hip.hipSetDevice(0))  # What the callbacks are for does not depend on the thread's device.

kept = callbacks.allocate(20 * MIB)
old = ctypes.c_void_p(callbacks.allocate(20 * MIB))
check(hip.hipMemsetAsync(old, 0x11, ctypes.c_size_t(20 * MIB), stream))
callbacks.release(old)
callbacks.release(old)  # A second time: nothing, but a count.
new = ctypes.c_void_p(callbacks.allocate(20 * MIB))  # There is room for two.
assert new.value == old.value, "the room for it is where the old one was"
current = ctypes.c_int(-1)
check(hip.hipGetDevice(ctypes.byref(current)))
assert current.value == 0, current.value

check(hip.hipSetDevice(1))
written = (ctypes.c_ubyte * (20 * MIB)).from_buffer_copy(b"\x22" * (20 * MIB))
check(hip.hipMemcpy(new, written, ctypes.c_size_t(20 * MIB), 1))
check(hip.hipDeviceSynchronize())
found = (ctypes.c_ubyte * (20 * MIB))()
check(hip.hipMemcpy(found, new, ctypes.c_size_t(20 * MIB), 2))
assert bytes(found) == b"\x22" * (20 * MIB), "the old block's work came after the new block's"
callbacks.release(kept)
callbacks.release(new)
callbacks.empty_cache()
hip.fake_gpu_count.restype = ctypes.c_uint64
assert hip.fake_gpu_count(1, b"plain_bytes") == 0, "idle memory goes back"
print("reused in order")
