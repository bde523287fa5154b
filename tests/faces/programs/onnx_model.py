# SPDX-License-Identifier: Apache-2.0
"""A small model in ONNX's format (onnx/onnx: onnx/onnx.proto), written without the package: y = relu(x w) over several
layers. With WIDE in the environment its weights are a megabyte each."""
import os

import numpy as np

WIDTH, LAYERS = 512 if os.environ.get("WIDE") else 64, 4
_FLOAT = 1


def _number(value):
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(made) + bytes([value])


def _field(number, value):
    """One field of a message: a number, a text, or bytes, which a message is too."""
    if isinstance(value, int):
        return _number(number << 3) + _number(value)
    value = value.encode() if isinstance(value, str) else value
    return _number(number << 3 | 2) + _number(len(value)) + value


def _node(kind, inputs, output):
    return b"".join(_field(1, name) for name in inputs) + _field(2, output) + _field(4, kind)


def _weights(name, values):
    return (b"".join(_field(1, size) for size in values.shape) + _field(2, _FLOAT) + _field(8, name)
            + _field(9, values.astype(np.float32).tobytes()))


def _rows(name):
    """A tensor of any number of rows."""
    shape = _field(1, _field(2, "rows")) + _field(1, _field(1, WIDTH))
    return _field(1, name) + _field(2, _field(1, _field(1, _FLOAT) + _field(2, shape)))


def weights():
    generator = np.random.default_rng(1)
    return [generator.standard_normal((WIDTH, WIDTH)).astype(np.float32) for _ in range(LAYERS)]


def make():
    """The model's bytes; the input is `x`, the output is `y`, both of float32 and shape [rows, WIDTH]."""
    graph, name = b"", "x"
    for layer, values in enumerate(weights()):
        graph += _field(1, _node("MatMul", [name, f"w{layer}"], f"m{layer}"))
        name = "y" if layer == LAYERS - 1 else f"y{layer}"
        graph += _field(1, _node("Relu", [f"m{layer}"], name)) + _field(5, _weights(f"w{layer}", values))
    graph += _field(2, "layers") + _field(11, _rows("x")) + _field(12, _rows("y"))
    return _field(1, 9) + _field(7, graph) + _field(8, _field(1, "") + _field(2, 17))


def expected(rows):
    for values in weights():
        rows = np.maximum(rows @ values, 0)
    return rows
