# SPDX-License-Identifier: Apache-2.0
"""The steps of `headroom test` in TensorFlow."""
import math

from headroom_steps import array_steps
from headroom_steps.array_training import Training
from headroom_steps.tensorflow_devices import devices, place, version  # noqa: F401  (the program of the steps asks this module)

import numpy  # isort: skip
import tensorflow as tf  # isort: skip  (tensorflow_devices sets what it reads when it is loaded)

DTYPES = {"fp32": tf.float32, "fp16": tf.float16, "bf16": tf.bfloat16}


def layer_norm(x):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-5)


def attention(q, k, v):
    scores = tf.matmul(q, k, transpose_b=True) / tf.cast(math.sqrt(q.shape[-1]), q.dtype)
    mask = numpy.triu(numpy.full(scores.shape[-2:], -6e4, numpy.float32), 1)
    return tf.matmul(tf.nn.softmax(scores + tf.cast(mask, q.dtype)), v)


def convolution(x, w):
    """The processor knows only the order with the channels last."""
    x, w = tf.transpose(x, (0, 2, 3, 1)), tf.transpose(w, (2, 3, 1, 0))
    return tf.transpose(tf.nn.conv2d(x, w, 1, "SAME"), (0, 3, 1, 2))


OPERATIONS = {"matmul": tf.matmul, "layer_norm": layer_norm, "softmax": tf.nn.softmax, "attention": attention, "convolution": convolution}


class Steps(Training, array_steps.Steps):
    name = "TensorFlow"

    def __init__(self, device, options):
        super().__init__(device, options)
        self.place = place(device)
        tf.config.experimental.enable_tensor_float_32_execution(False)  # As PyTorch's products are.

    @staticmethod
    def stack(device):
        from headroom_steps.trial.tensorflow_stack import Stack
        return Stack(device)

    def compute(self, operation, dtype, inputs):
        with tf.device(self.place):
            inputs = [tf.cast(one, DTYPES[dtype]) for one in inputs]
            return tf.cast(tf.function(OPERATIONS[operation])(*inputs), tf.float32).numpy()

    def keep(self, array):
        with tf.device(self.place):
            return tf.identity(array)

    def product(self, size, dtype):
        with tf.device(self.place):
            matrix = tf.cast(self.draw(size, size), DTYPES[dtype])
            function = tf.function(lambda: tf.reduce_max(tf.matmul(matrix, matrix)))
        return lambda: function().numpy()

    def copy(self, count):
        with tf.device(self.place):
            source, target = tf.zeros(count), tf.Variable(tf.zeros(count))
            function = tf.function(lambda: target.assign(source + 1)[0])
        return lambda: function().numpy()
