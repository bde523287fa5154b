# SPDX-License-Identifier: Apache-2.0
"""`headroom try` in JAX: a step is one compiled function."""
import functools
import os

# Else the first use takes three quarters of a GPU's memory, and nothing can be counted.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

from headroom_steps.jax_devices import find  # noqa: E402
from headroom_steps.trial import arrays  # noqa: E402
from headroom_steps.trial.resident import Resident  # noqa: E402

DTYPES = {"fp32": jnp.float32, "fp16": jnp.float16, "bf16": jnp.bfloat16}


class Ops:
    activations = {"silu": jax.nn.silu, "gelu": functools.partial(jax.nn.gelu, approximate=False),
                   "gelu_tanh": functools.partial(jax.nn.gelu, approximate=True), "relu": jax.nn.relu}
    transpose, reshape, matmul, rsqrt, softmax = jnp.transpose, jnp.reshape, jnp.matmul, jax.lax.rsqrt, jax.nn.softmax
    constant, mean_all, sum_all = jnp.asarray, jnp.mean, jnp.sum

    @staticmethod
    def cast(x, dtype):
        return jnp.asarray(x).astype(DTYPES[dtype])

    @staticmethod
    def product(x, matrix):
        return jnp.matmul(x, matrix.T)

    @staticmethod
    def mean(x):
        return jnp.mean(x, -1, keepdims=True)

    @staticmethod
    def concat(parts):
        return jnp.concatenate(parts, -1)

    @staticmethod
    def repeat(x, count):
        return jnp.repeat(x, count, 1)

    @staticmethod
    def take(table, places):
        return jnp.take(table, places, 0)

    @staticmethod
    def cross_entropy(outputs, labels):
        return -jnp.take_along_axis(jax.nn.log_softmax(outputs), labels[..., None], -1)[..., 0]

    @staticmethod
    def checkpoint(function, *arguments):
        return jax.checkpoint(function)(*arguments)


def missing_target(device):
    """XLA compiles for the device itself: there is no list of targets to look into."""
    del device


class OwnCount:
    source = "jax's peak_bytes_in_use"

    def __init__(self, device):
        self.device = device
        self.begin = self.read("bytes_in_use")

    def read(self, name):
        return (self.device.memory_stats() or {}).get(name, 0)

    def restart(self):
        """Its peak is since the process began, and cannot be forgotten."""

    def peak(self):
        return max(0, self.read("peak_bytes_in_use") - self.begin)

    def live(self):
        return max(0, self.read("bytes_in_use") - self.begin)


class Stack:
    def __init__(self, device):
        self.device = find(device)

    @staticmethod
    def prepare():
        """What would be counted as the job's otherwise."""
        arrays.block()

    def count(self):
        return OwnCount(self.device) if self.device.memory_stats() else Resident()

    def returned(self):
        """JAX keeps what it has once taken: it does not tell."""

    @staticmethod
    def draw(job, device):
        weights = arrays.draw(job, lambda array, name: jax.device_put(array.astype(DTYPES[arrays.weight_type(job, name)]), device))
        trained = {name: one for name, one in weights.items() if job.is_trained(name)}
        return trained, {name: one for name, one in weights.items() if name not in trained}

    def loss_and_slope(self, job, on_processor=False):
        device = jax.devices("cpu")[0] if on_processor else self.device
        model = arrays.Model(Ops, job)
        with jax.default_device(device):
            trained, frozen = self.draw(job, device)
            function = jax.jit(jax.value_and_grad(lambda some, rest, *batch: model.loss({**rest, **some}, *batch)))
            loss, gradients = function(trained, frozen, *arrays.batch_of(job))
            directions = arrays.draw(job, lambda array, name: array.astype("float64"), is_direction=True)
            slope = sum((jax.device_get(gradients[name]).astype("float64") * one).sum() for name, one in directions.items())
            return float(loss), float(slope)

    def train(self, job):
        """Yields the loss of each step when it has been done."""
        model = arrays.Model(Ops, job)

        # A step's weights and states take the place of the last one's.
        @functools.partial(jax.jit, donate_argnums=(0, 1))
        def step(trained, states, frozen, number, *batch):
            loss, gradients = jax.value_and_grad(lambda some: model.loss({**frozen, **some}, *batch))(trained)
            for name, gradient in gradients.items():
                value, state = arrays.step_of(job, number, trained[name], gradient, states[name])
                dtype = trained[name].dtype
                trained = {**trained, name: value.astype(dtype)}
                states = {**states, name: tuple(one.astype(dtype) for one in state)}
            return trained, states, loss

        with jax.default_device(self.device):
            trained, frozen = self.draw(job, self.device)
            states = {name: tuple(jnp.zeros_like(one) for _ in range(arrays.states_of(job))) for name, one in trained.items()}
            batch = [jax.device_put(one, self.device) for one in arrays.batch_of(job)]
        number = 0
        while True:
            number += 1
            with jax.default_device(self.device):
                trained, states, loss = step(trained, states, frozen, jnp.float32(number), *batch)
            yield float(loss)  # Waits for the step.
