# SPDX-License-Identifier: Apache-2.0
"""`headroom try` in TensorFlow: a step is one tf.function."""
import functools

import tensorflow as tf

from headroom_steps.tensorflow_devices import place
from headroom_steps.trial import arrays
from headroom_steps.trial.resident import Resident

DTYPES = {"fp32": tf.float32, "fp16": tf.float16, "bf16": tf.bfloat16}


class Ops:
    activations = {"silu": tf.nn.silu, "gelu": functools.partial(tf.nn.gelu, approximate=False),
                   "gelu_tanh": functools.partial(tf.nn.gelu, approximate=True), "relu": tf.nn.relu}
    transpose, reshape, matmul, rsqrt, softmax = tf.transpose, tf.reshape, tf.matmul, tf.math.rsqrt, tf.nn.softmax
    constant, mean_all, sum_all = tf.constant, tf.reduce_mean, tf.reduce_sum

    @staticmethod
    def cast(x, dtype):
        return tf.cast(x, DTYPES[dtype])

    @staticmethod
    def product(x, matrix):
        return tf.matmul(x, matrix, transpose_b=True) if len(x.shape) == 2 else tf.tensordot(x, matrix, [[-1], [1]])

    @staticmethod
    def mean(x):
        return tf.reduce_mean(x, -1, keepdims=True)

    @staticmethod
    def concat(parts):
        return tf.concat(parts, -1)

    @staticmethod
    def repeat(x, count):
        return tf.repeat(x, count, axis=1)

    @staticmethod
    def take(table, places):
        return tf.gather(table, places)

    @staticmethod
    def cross_entropy(outputs, labels):
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs)

    @staticmethod
    def checkpoint(function, weights, x):
        """tf.recompute_grad wants plain tensors as arguments."""
        names = list(weights)
        return tf.recompute_grad(lambda y, *values: function(dict(zip(names, values)), y))(x, *(weights[name] for name in names))


def missing_target(device):
    """TensorFlow's builds do not list their targets."""
    del device


class OwnCount:
    source = "tf.config.experimental.get_memory_info"

    def __init__(self, device):
        self.device = device
        self.begin = self.read("current")
        self.restart()

    def restart(self):
        tf.config.experimental.reset_memory_stats(self.device)

    def read(self, name):
        return tf.config.experimental.get_memory_info(self.device)[name]

    def peak(self):
        return max(0, self.read("peak") - self.begin)

    def live(self):
        return max(0, self.read("current") - self.begin)


class Stack:
    def __init__(self, device):
        self.place = place(device)

    @staticmethod
    def prepare():
        """What would be counted as the job's otherwise."""
        arrays.block()

    def count(self):
        return Resident() if self.place == "CPU:0" else OwnCount(self.place)

    def returned(self):
        """TensorFlow keeps what it has once taken: it does not tell."""

    @staticmethod
    def draw(job):
        def make(array, name):
            return tf.Variable(tf.cast(array, DTYPES[arrays.weight_type(job, name)]), trainable=job.is_trained(name))

        weights = arrays.draw(job, make)
        return weights, {name: one for name, one in weights.items() if job.is_trained(name)}

    @staticmethod
    def gradients(job, weights, trained, batch):
        model = arrays.Model(Ops, job)
        with tf.GradientTape() as tape:
            loss = model.loss({name: tf.convert_to_tensor(one) for name, one in weights.items()}, *batch)
        # The rows of an embedding come apart from their places.
        return loss, [tf.convert_to_tensor(one) for one in tape.gradient(loss, list(trained.values()))]

    def loss_and_slope(self, job, on_processor=False):
        with tf.device("CPU:0" if on_processor else self.place):
            weights, trained = self.draw(job)
            batch = [tf.constant(one) for one in arrays.batch_of(job)]
            loss, gradients = tf.function(lambda: self.gradients(job, weights, trained, batch))()
            directions = arrays.draw(job, lambda array, name: array.astype("float64"), is_direction=True)
            slope = sum((tf.cast(one, tf.float64).numpy() * directions[name]).sum() for name, one in zip(trained, gradients))
            return float(loss), float(slope)

    def train(self, job):
        """Yields the loss of each step when it has been done."""
        with tf.device(self.place):
            weights, trained = self.draw(job)
            states = {name: [tf.Variable(tf.zeros_like(one), trainable=False) for _ in range(arrays.states_of(job))]
                      for name, one in trained.items()}
            batch = [tf.constant(one) for one in arrays.batch_of(job)]

            @tf.function
            def step(number):
                loss, gradients = self.gradients(job, weights, trained, batch)
                for (name, variable), gradient in zip(trained.items(), gradients):
                    value, state = arrays.step_of(job, tf.cast(number, variable.dtype), variable, gradient, states[name])
                    variable.assign(value)
                    for kept, new in zip(states[name], state):
                        kept.assign(new)
                return loss

        number = 0
        while True:
            number += 1
            with tf.device(self.place):
                loss = step(tf.constant(float(number)))
                yield float(loss)  # Waits for the step.
