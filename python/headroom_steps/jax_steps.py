# SPDX-License-Identifier: Apache-2.0
"""The steps of `headroom test` in JAX."""
from headroom_steps import array_steps
from headroom_steps.array_training import Training
from headroom_steps.jax_devices import devices, find, version  # noqa: F401  (the program of the steps asks this module)

import jax  # isort: skip  (jax_devices sets what it reads when it is loaded)
import jax.numpy as jnp  # isort: skip

DTYPES = {"fp32": jnp.float32, "fp16": jnp.float16, "bf16": jnp.bfloat16}


def layer_norm(x):
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def attention(q, k, v):
    """JAX's own takes samples, tokens, heads."""
    q, k, v = (jnp.swapaxes(one, 1, 2) for one in (q, k, v))
    return jnp.swapaxes(jax.nn.dot_product_attention(q, k, v, is_causal=True), 1, 2)


OPERATIONS = {"matmul": jnp.matmul, "layer_norm": layer_norm, "softmax": jax.nn.softmax, "attention": attention,
              "convolution": lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 1), "SAME")}


class Steps(Training, array_steps.Steps):
    name = "JAX"

    def __init__(self, device, options):
        super().__init__(device, options)
        self.place = find(device)

    @staticmethod
    def stack(device):
        from headroom_steps.trial.jax_stack import Stack
        return Stack(device)

    def compute(self, operation, dtype, inputs):
        inputs = [jax.device_put(one, self.place).astype(DTYPES[dtype]) for one in inputs]
        # As PyTorch does without being asked; else some GPUs take narrower products.
        with jax.default_matmul_precision("highest"):
            return jax.jit(OPERATIONS[operation])(*inputs).astype(jnp.float32)

    def keep(self, array):
        return jax.device_put(array, self.place).block_until_ready()

    def product(self, size, dtype):
        matrix = jax.device_put(self.draw(size, size).astype("float32"), self.place).astype(DTYPES[dtype])
        function = jax.jit(jnp.matmul)
        return lambda: function(matrix, matrix).block_until_ready()

    def copy(self, count):
        source = jax.device_put(jnp.zeros(count, jnp.float32), self.place)
        function = jax.jit(lambda x: x + 1)
        return lambda: function(source).block_until_ready()
