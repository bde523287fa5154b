# SPDX-License-Identifier: Apache-2.0
"""The job that every framework runs: a transformer by its sizes, its weights by name, and one batch."""
import copy
import math

from headroom_steps.trial import draws

SPREAD = 0.02 * math.sqrt(3)  # Uniform with the standard deviation that models are begun with.
TOKENS, LABELS, INPUTS, TARGETS = 11, 13, 17, 19  # Keys of what is drawn for the batch.


class Weight:
    def __init__(self, name, shape, kind="drawn"):
        self.name, self.shape, self.kind = name, tuple(shape), kind  # "drawn", "ones" or "zeros".

    def count(self):
        return math.prod(self.shape)


class Job:
    """The keys are those of proof/trial_job.h's JSON."""

    def __init__(self, keys):
        self.__dict__.update(keys)
        self.spread = SPREAD

    def small(self):
        """The same kind of model, so small that it can be computed without any framework."""
        other = copy.copy(self)
        other.heads = 4
        other.kv_heads = max(1, 4 * self.kv_heads // self.heads)
        other.hidden, other.head_dim, other.intermediate, other.layers = 32, 8, 48, 2
        other.vocabulary = min(self.vocabulary, 61)
        other.features, other.outputs = min(self.features, 3), min(self.outputs, 5)
        other.batch, other.sequence, other.position_rows = 2, 9, min(self.position_rows, 9)
        other.rank = min(self.rank, 3)
        other.spread = 0.4  # Large enough that nothing is nearly linear.
        return other.in_type("fp32")

    def slice(self):
        """A part of the job with its own widths, short enough for the processor."""
        other = copy.copy(self)
        other.layers, other.batch, other.sequence = min(self.layers, 2), 1, min(self.sequence, 128)
        return other

    def in_type(self, dtype):
        other = copy.copy(self)
        other.dtype = other.weights = dtype
        return other

    def output_rows(self):
        return self.outputs or self.vocabulary

    def linear(self, name, rows, columns, bias=False):
        yield Weight(name, (rows, columns))
        if bias:
            yield Weight(name + ".bias", (rows,), "zeros")
        target = name.split(".")[-1]
        if self.rank and target in self.targets:
            yield Weight(name + ".a", (self.rank, columns))
            yield Weight(name + ".b", (rows, self.rank))

    def norm_of(self, name):
        yield Weight(name, (self.hidden,), "ones")
        if self.norm == "layer":
            yield Weight(name + ".bias", (self.hidden,), "zeros")

    def layer(self, index):
        name = f"{index}."
        query, key = self.heads * self.head_dim, self.kv_heads * self.head_dim
        yield from self.norm_of(name + "norm1")
        for part, rows in (("q", query), ("k", key), ("v", key)):
            yield from self.linear(name + part, rows, self.hidden, part in self.biases)
        yield from self.linear(name + "o", self.hidden, query, "o" in self.biases)
        yield from self.norm_of(name + "norm2")
        for part in ("gate", "up") if self.gated else ("up",):
            yield from self.linear(name + part, self.intermediate, self.hidden, "mlp" in self.biases)
        yield from self.linear(name + "down", self.hidden, self.intermediate, "mlp" in self.biases)

    def parameters(self):
        """All weights in order; the place of one in it is the key that it is drawn by."""
        if self.vocabulary:
            yield Weight("embedding", (self.vocabulary, self.hidden))
        else:
            yield from self.linear("input", self.hidden, self.features, True)
        if self.positions == "learned":
            yield Weight("positions", (max(self.position_rows, self.sequence), self.hidden))
        for index in range(self.layers):
            yield from self.layer(index)
        yield from self.norm_of("norm")
        if not self.tied:
            yield from self.linear("head", self.output_rows(), self.hidden, bool(self.outputs))

    def least_bytes(self):
        """What every framework holds at once, and more: weights, gradients, optimizer's states, and what each layer is given."""
        size = 4 if self.weights == "fp32" else 2
        states = 2 if self.optimizer == "adamw" else int(self.momentum)
        trained = sum(one.count() for one in self.parameters() if self.is_trained(one.name))
        rows = self.batch * self.sequence
        inputs = rows * self.hidden * self.layers * (4 if self.dtype == "fp32" else 2)
        return sum(one.count() for one in self.parameters()) * size + trained * size * (1 + states) + inputs + self.list_bytes()

    def list_bytes(self):
        """Of inputs and labels as Python's lists, wherever the job runs."""
        return self.batch * self.sequence * 2 * 40 * max(1, self.features, self.outputs)

    def is_trained(self, name):
        return not self.rank or name.endswith((".a", ".b"))

    def inputs(self):
        """Of all samples in one row: tokens, or numbers."""
        count = self.batch * self.sequence
        if self.vocabulary:
            return draws.tokens(count, self.vocabulary, TOKENS)
        return draws.numbers(count * self.features, INPUTS)

    def labels(self):
        """Of a decoder the token that follows, -100 behind the last; else other tokens, or numbers."""
        count = self.batch * self.sequence
        if self.outputs:
            return draws.numbers((self.batch if self.per_sample else count) * self.outputs, TARGETS)
        if not self.shifted:
            return draws.tokens(count, self.vocabulary, LABELS)
        tokens = self.inputs()
        return [tokens[at + 1] if (at + 1) % self.sequence else -100 for at in range(count)]
