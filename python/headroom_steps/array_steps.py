# SPDX-License-Identifier: Apache-2.0
"""The steps of `headroom test` for frameworks of arrays, beside numpy with 64 bits: what JAX, TensorFlow and onnxruntime have in common.

A framework gives `compute(name, dtype, inputs)`: what an operation of OPERATIONS makes of arrays of numpy, on the device.
"""
import math
import time

import numpy

from headroom_steps.protocol import failed, passed, skipped
from headroom_steps.tolerances import compare

CHUNK = 256 << 20
GIB = 1 << 30
SECONDS = 0.5  # Of measuring; the best of what fits in.


def softmax(x):
    x = numpy.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def layer_norm(x):
    x = x - x.mean(-1, keepdims=True)
    return x / numpy.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def attention(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    return softmax(scores + numpy.triu(numpy.full(scores.shape[-2:], -1e30), 1)) @ v


def convolution(x, w):
    """Of 3 x 3 with a border of zeros: samples, channels, rows, columns."""
    height, width = x.shape[2:]
    padded = numpy.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return sum(numpy.einsum("ncij,oc->noij", padded[:, :, row:row + height, column:column + width], w[:, :, row, column], optimize=True)
               for row in range(3) for column in range(3))


OPERATIONS = {"matmul": numpy.matmul, "layer_norm": layer_norm, "softmax": softmax, "attention": attention, "convolution": convolution}


def narrowed(array, dtype):
    """The nearest values that the type holds, in 32 bits or, for fp16, its own."""
    if dtype == "fp16":
        return array.astype(numpy.float16)
    array = array.astype(numpy.float32)
    if dtype == "bf16":  # The upper half of 32 bits.
        array = (array.view(numpy.uint32) & numpy.uint32(0xFFFF0000)).view(numpy.float32)
    return array


def pattern(index, words):
    """Different in every word and every chunk, so that a byte that changed and an address that serves twice both show."""
    return numpy.arange(words, dtype=numpy.int32) ^ numpy.int32((index * 0x9E3779B1) & 0x7FFFFFFF)


class Steps:
    name = ""  # Of the framework, for people.

    def __init__(self, device, options):
        self.device, self.options = device, options
        self.on_gpu = device != "cpu"
        self.random = numpy.random.default_rng(17)

    def draw(self, *shape):
        return self.random.standard_normal(shape)

    def check(self, operation, dtype, what, *inputs):
        inputs = [narrowed(one, dtype) for one in inputs]
        wanted = OPERATIONS[operation](*(one.astype(numpy.float64) for one in inputs))
        found = numpy.asarray(self.compute(operation, dtype, inputs)).astype(numpy.float64)
        if found.shape != wanted.shape:
            return failed(f"{what} has the shape {found.shape}, not {wanted.shape}")
        return compare(float(numpy.abs(found - wanted).max() / numpy.abs(wanted).max()), dtype, what)

    def matmul(self, dtype):
        if not self.on_gpu and dtype == "fp16":
            return skipped("processors compute products in 16 bits by detours that no job takes")
        return self.check("matmul", dtype, "a product of two 1024 x 1024 matrices", self.draw(1024, 1024), self.draw(1024, 1024))

    def matmul_fp32(self):
        return self.matmul("fp32")

    def matmul_fp16(self):
        return self.matmul("fp16")

    def matmul_bf16(self):
        return self.matmul("bf16")

    def layer_norm(self):
        return self.check("layer_norm", "fp32", "a layer norm of 512 rows", self.draw(512, 1024))

    def softmax(self):
        return self.check("softmax", "fp32", "a softmax of 512 rows", self.draw(512, 4096))

    def attention(self):
        dtype = "fp16" if self.on_gpu else "fp32"
        return self.check("attention", dtype, "causal attention over 256 tokens", *(self.draw(2, 8, 256, 64) for _ in range(3)))

    def convolution(self):
        return self.check("convolution", "fp32", "a convolution of 64 channels", self.draw(4, 64, 56, 56), self.draw(64, 64, 3, 3))

    def memory(self):
        """All of --bytes, in chunks that stay until the last is read."""
        chunks, taken = [], 0
        while taken < self.options.bytes:
            words = min(CHUNK, self.options.bytes - taken) // 4
            if words == 0:
                break
            try:
                chunks.append((words, self.keep(pattern(len(chunks), words))))
            except Exception as error:  # Each framework has its own for this.
                if not any(word in str(error) for word in ("RESOURCE_EXHAUSTED", "out of memory", "OOM")):
                    raise
                return failed(f"out of memory after {taken / GIB:.2f} of {self.options.bytes / GIB:.2f} GiB that should have been free",
                              taken / GIB, "GiB", kind="size")
            taken += 4 * words
        for index, (words, chunk) in enumerate(chunks):
            wrong = int((numpy.asarray(chunk) != pattern(index, words)).sum())
            if wrong:
                return failed(f"{wrong} of {words} words read back changed, in chunk {index + 1} of {len(chunks)}", taken / GIB, "GiB",
                              kind="memory")
        return passed(taken / GIB, "GiB", "written, read back, every word as it was written")

    def released(self):
        return skipped(f"{self.name} keeps what it has taken" if self.on_gpu else "the processor's memory is the system's")

    def rate(self):
        size = 4096 if self.on_gpu else 1024
        dtype = "fp16" if self.on_gpu else "fp32"
        seconds = best_time(self.product(size, dtype))
        return passed(2 * size**3 / seconds / 1e12, "TFLOP/s", dtype)

    def bandwidth(self):
        """Every byte is read once and written once."""
        size = (256 if self.on_gpu else 64) << 20
        seconds = best_time(self.copy(size // 4))
        return passed(2 * size / seconds / 1e9, "GB/s", "a copy, bytes read and written")


def best_time(function):
    """`function` returns when it is done."""
    function()
    best, end = math.inf, time.perf_counter() + SECONDS
    while True:
        begin = time.perf_counter()
        function()
        now = time.perf_counter()
        best = min(best, now - begin)
        if now >= end:
            return best
