# SPDX-License-Identifier: Apache-2.0
"""An ordinary program with ONNX Runtime's ROCm provider, which knows nothing of headroom.

    onnx_session.py named|options|default|own|limited|graph|second|refused|refused-weights

Each way to ask for the provider, then runs of different sizes. Prints what ONNX Runtime's errors say, and at the end what
the stand-in for HIP knows: the bytes that the GPU has given, before and after the session is gone.
"""
import ctypes
import gc
import sys

import numpy as np
import onnxruntime

import onnx_model

kind = sys.argv[1]
MIB = 1 << 20
NAME = "ROCMExecutionProvider"
hip = ctypes.CDLL("libamdhip64.so.7")
hip.fake_gpu_count.restype = ctypes.c_uint64
device = 1 if kind == "second" else 0
foreign = []  # What the program's own callbacks were asked for.


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)
def own_allocate(size):
    block = ctypes.c_void_p()
    hip.hipMalloc(ctypes.byref(block), ctypes.c_size_t(size))
    foreign.append(size)
    return block.value


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def own_release(block):
    hip.hipFree(ctypes.c_void_p(block))


def address(function):
    return str(ctypes.cast(function, ctypes.c_void_p).value)


SESSIONS = {
    "default": {},
    "options": {"providers": [NAME, "CPUExecutionProvider"], "provider_options": [{"device_id": 0}, {}]},
    "own": {"providers": [(NAME, {"gpu_external_alloc": address(own_allocate), "gpu_external_free": address(own_release)})]},
    "limited": {"providers": [(NAME, {"gpu_mem_limit": 256 * MIB})]},
    "graph": {"providers": [(NAME, {"enable_hip_graph": 1})]},
    "second": {"providers": [(NAME, {"device_id": 1})]},
}


def run(session, rows):
    found = session.run(None, {"x": np.ones((rows, onnx_model.WIDTH), np.float32)})[0]
    assert found.shape == (rows, onnx_model.WIDTH), found.shape


def main():
    session = onnxruntime.InferenceSession(onnx_model.make(), **SESSIONS.get(kind, {"providers": [NAME]}))
    if kind == "default":  # Which is the processor's, also where there is a GPU.
        print("providers", session.get_providers())
        run(session, 8)
        sys.exit()
    assert NAME in session.get_providers(), session.get_providers()
    if kind == "graph":
        return session  # The stand-in captures none.
    for rows in (8, 400, 8, 20_000, 8, 3_000):
        run(session, rows)
    if kind == "refused":
        for _ in range(3):
            try:
                run(session, 100_000)
                print("not refused")
            except Exception as error:
                print("refused", type(error).__name__, error)
            run(session, 8)
    return session


try:
    made = main()
except Exception as error:
    print("no session", type(error).__name__, error)
    sys.exit()
print("held", hip.fake_gpu_count(device, b"plain_bytes"), "allocations", hip.fake_gpu_count(device, b"allocations"),
      "own", len(foreign), "options", made.get_provider_options()[NAME].get("gpu_external_alloc"))
del made
gc.collect()
