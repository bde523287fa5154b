# SPDX-License-Identifier: Apache-2.0
"""The job by the functions that every framework of arrays has, which each gives as `ops`: for JAX and TensorFlow."""
import functools
import math

import numpy

from headroom_steps.trial import draws


@functools.cache
def block():
    """What all weights are drawn from, computed once."""
    return draws.spread(numpy.arange(draws.LENGTH, dtype=numpy.uint64)).astype(numpy.float32)


def draw(job, make, is_direction=False):
    """What `make` makes of each weight's numbers in 32 bits and its name."""
    made = {}
    for key, one in enumerate(job.parameters()):
        if is_direction and not job.is_trained(one.name):
            continue
        if is_direction or one.kind == "drawn":
            flat = numpy.empty(one.count(), numpy.float32)
            draws.fill(flat, block(), key + (1000 if is_direction else 0))
            if not is_direction:
                flat *= numpy.float32(job.spread)
        else:
            flat = numpy.full(one.count(), float(one.kind == "ones"), numpy.float32)
        made[one.name] = make(flat.reshape(one.shape), one.name)
    return made


def weight_type(job, name):
    return "fp32" if job.rank and job.is_trained(name) else job.weights


def batch_of(job):
    """As arrays of numpy: inputs, labels, and which labels count."""
    shape = (job.batch, job.sequence)
    if job.vocabulary:
        inputs = numpy.array(job.inputs(), numpy.int32).reshape(shape)
    else:
        inputs = numpy.array(job.inputs(), numpy.float32).reshape(*shape, job.features)
    if job.outputs:
        labels = numpy.array(job.labels(), numpy.float32).reshape(job.batch, -1, job.outputs)
        return inputs, labels, numpy.ones(1, numpy.float32)
    labels = numpy.array(job.labels(), numpy.int32).reshape(shape)
    return inputs, numpy.maximum(labels, 0), (labels >= 0).astype(numpy.float32)


class Model:
    def __init__(self, ops, job):
        self.ops, self.job = ops, job

    def linear(self, weights, name, x):
        ops, job = self.ops, self.job
        out = ops.product(ops.cast(x, job.dtype), ops.cast(weights[name], job.dtype))
        if name + ".bias" in weights:
            out = out + ops.cast(weights[name + ".bias"], job.dtype)
        if name + ".a" in weights:
            inner = ops.product(ops.product(ops.cast(x, "fp32"), weights[name + ".a"]), weights[name + ".b"])
            out = out + ops.cast(inner * (job.alpha / job.rank), job.dtype)
        return out

    def norm(self, weights, name, x):
        ops, job = self.ops, self.job
        wide = ops.cast(x, "fp32")
        if job.norm == "layer":
            wide = wide - ops.mean(wide)
        wide = wide * ops.rsqrt(ops.mean(wide * wide) + job.eps)
        out = wide * ops.cast(weights[name], "fp32")
        if job.norm == "layer":
            out = out + ops.cast(weights[name + ".bias"], "fp32")
        return ops.cast(out, job.dtype)

    def turn(self, x):
        """Rotary positions; `x` has samples, heads, steps and a head's numbers."""
        job, ops = self.job, self.ops
        if job.positions != "rotary":
            return x
        size = job.head_dim
        steps = 1.0 / job.theta**(numpy.arange(0, size, 2, dtype=numpy.float64) / size)
        angles = numpy.outer(numpy.arange(job.sequence), steps)
        angles = numpy.concatenate((angles, angles), -1).astype(numpy.float32)
        cos, sin = (ops.cast(ops.constant(table), job.dtype) for table in (numpy.cos(angles), numpy.sin(angles)))
        half = size // 2
        return x * cos + ops.concat((-x[..., half:], x[..., :half])) * sin

    def heads(self, x, count):
        return self.ops.transpose(self.ops.reshape(x, (self.job.batch, self.job.sequence, count, self.job.head_dim)), (0, 2, 1, 3))

    def attention(self, weights, name, x):
        job, ops = self.job, self.ops
        counts = {"q": job.heads, "k": job.kv_heads, "v": job.kv_heads}
        q, k, v = (self.heads(self.linear(weights, name + part, x), counts[part]) for part in "qkv")
        q, k = self.turn(q), self.turn(k)
        if job.heads != job.kv_heads:
            k, v = (ops.repeat(part, job.heads // job.kv_heads) for part in (k, v))
        scores = ops.cast(ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))), "fp32") / math.sqrt(job.head_dim)
        if job.causal:
            mask = numpy.triu(numpy.full((job.sequence, job.sequence), -1e30, numpy.float32), 1)
            scores = scores + ops.constant(mask)
        out = ops.matmul(ops.cast(ops.softmax(scores), job.dtype), v)
        out = ops.reshape(ops.transpose(out, (0, 2, 1, 3)), (job.batch, job.sequence, job.heads * job.head_dim))
        return self.linear(weights, name + "o", out)

    def layer(self, weights, name, x):
        job = self.job
        x = x + self.attention(weights, name, self.norm(weights, name + "norm1", x))
        normed = self.norm(weights, name + "norm2", x)
        active = self.ops.activations[job.activation]
        if job.gated:
            inner = active(self.linear(weights, name + "gate", normed)) * self.linear(weights, name + "up", normed)
        else:
            inner = active(self.linear(weights, name + "up", normed))
        return x + self.linear(weights, name + "down", inner)

    def outputs(self, weights, inputs):
        job, ops = self.job, self.ops
        if job.vocabulary:
            x = ops.cast(ops.take(weights["embedding"], inputs), job.dtype)
        else:
            x = self.linear(weights, "input", inputs)
        if job.positions == "learned":
            x = x + ops.cast(weights["positions"][:job.sequence], job.dtype)
        for index in range(job.layers):
            name = f"{index}."
            if job.checkpointing:
                x = ops.checkpoint(lambda part, y, name=name: self.layer(part, name, y),
                                   {key: one for key, one in weights.items() if key.startswith(name)}, x)
            else:
                x = self.layer(weights, name, x)
        return self.linear(weights, "embedding" if job.tied else "head", self.norm(weights, "norm", x))

    def loss(self, weights, inputs, labels, counted):
        job, ops = self.job, self.ops
        outputs = ops.cast(self.outputs(weights, inputs), "fp32")
        if job.outputs:
            difference = (outputs[:, :1] if job.per_sample else outputs) - labels
            return ops.mean_all(difference * difference)
        return ops.sum_all(ops.cross_entropy(outputs, labels) * counted) / ops.sum_all(counted)


def step_of(job, number, value, gradient, state):
    """One weight's step by AdamW or SGD, as PyTorch computes it: the new value and the new state. `number` counts from 1."""
    rate = job.learning_rate
    if job.optimizer == "sgd":
        gradient = gradient + job.weight_decay * value
        if job.momentum:
            state = (0.9 * state[0] + gradient,)
            gradient = state[0]
        return value - rate * gradient, state
    first = 0.9 * state[0] + 0.1 * gradient
    second = 0.999 * state[1] + 0.001 * gradient * gradient
    spread = second**0.5 / (1 - 0.999**number)**0.5 + job.epsilon
    return value * (1 - rate * job.weight_decay) - rate / (1 - 0.9**number) * first / spread, (first, second)


def states_of(job):
    """How many numbers the optimizer keeps for each of a weight's."""
    return 2 if job.optimizer == "adamw" else int(job.momentum)
