# SPDX-License-Identifier: Apache-2.0
"""An ordinary program with ONNX Runtime on the processor, which knows nothing of headroom.

    onnx_processor.py plain|options|declined|refused|refused-weights
"""
import sys

import numpy as np
import onnxruntime

import onnx_model

kind = sys.argv[1]
options = None
if kind in ("options", "declined"):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
if kind == "declined":
    options.add_session_config_entry("session.use_env_allocators", "0")


def run(session, rows):
    rows = np.random.default_rng(2).standard_normal((rows, onnx_model.WIDTH)).astype(np.float32)
    found = session.run(None, {"x": rows})[0]
    assert np.allclose(found, onnx_model.expected(rows), rtol=1e-4, atol=1e-2)
    return found


def make_session():
    return onnxruntime.InferenceSession(onnx_model.make(), options, providers=["CPUExecutionProvider"])


try:
    session = make_session()
except Exception as error:
    print("no session", type(error).__name__, error)
    sys.exit()
results = [run(session, rows) for rows in (8, 4_000, 8)]
if kind == "refused":
    for _ in range(3):
        try:
            run(session, 300_000)
            print("not refused")
        except Exception as error:
            print("refused", type(error).__name__, error)
        run(session, 8)
del session
assert results[0].sum() == results[2].sum()  # A result outlives its session.
print("results", [float(result.sum()) for result in results])
