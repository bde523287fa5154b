# SPDX-License-Identifier: Apache-2.0
"""A model of one operation as the bytes of an ONNX file, without the package onnx (onnx/onnx: onnx/onnx.proto).

Each field of a protocol buffer is its number and kind, then its value; a message is a field whose value is its bytes.
"""
import struct

FLOAT, FLOAT16 = 1, 10  # TensorProto.DataType
IR_VERSION, OPSET = 8, 17  # The first with LayerNormalization.


def varint(value):
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def attribute(name, value):
    """Of a node: a float, an integer, or several integers."""
    if isinstance(value, float):
        return block(5, block(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1))
    if isinstance(value, int):
        return block(5, block(1, name) + number(3, value) + number(20, 2))
    return block(5, block(1, name) + b"".join(number(8, one) for one in value) + number(20, 7))


def tensor(field, name, element, shape):
    dimensions = b"".join(block(1, number(1, size)) for size in shape)
    return block(field, block(1, name) + block(2, block(1, number(1, element) + block(2, dimensions))))


def model(operation, element, inputs, output, **attributes):
    """`inputs`: the shapes of the operation's inputs, which are called "0", "1" and so on; its output is "out"."""
    names = [str(index) for index in range(len(inputs))]
    node = b"".join(block(1, name) for name in names) + block(2, "out") + block(4, operation)
    node += b"".join(attribute(name, value) for name, value in attributes.items())
    graph = block(1, node) + block(2, "headroom")
    graph += b"".join(tensor(11, name, element, shape) for name, shape in zip(names, inputs)) + tensor(12, "out", element, output)
    return number(1, IR_VERSION) + block(7, graph) + block(8, block(1, "") + number(2, OPSET))
