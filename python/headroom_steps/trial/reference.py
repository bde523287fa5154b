# SPDX-License-Identifier: Apache-2.0
"""The loss of a small job by Python's own numbers of 64 bits, without any framework: what all of them are held against."""
import math

from headroom_steps.trial import draws

STEP = 1e-4  # Of the difference quotient; its error is of the order of its square.


def gelu(x):
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


ACTIVATIONS = {"silu": lambda x: x / (1 + math.exp(-x)), "gelu": gelu, "gelu_tanh": gelu_tanh, "relu": lambda x: max(x, 0.0)}


def add(one, other):
    return [a + b for a, b in zip(one, other)]


def rows_of(flat, columns):
    return [flat[at:at + columns] for at in range(0, len(flat), columns)]


def draw(job):
    """The weights by name, each in one row, and of those that are trained the direction that their slope is taken in."""
    weights, directions = {}, {}
    for key, one in enumerate(job.parameters()):
        count = one.count()
        plain = {"ones": 1.0, "zeros": 0.0}.get(one.kind)
        weights[one.name] = [plain] * count if plain is not None else [job.spread * x for x in draws.numbers(count, key)]
        if job.is_trained(one.name):
            directions[one.name] = draws.numbers(count, 1000 + key)
    return weights, directions


class Model:
    def __init__(self, job, weights):
        self.job, self.weights = job, weights

    def product(self, name, row):
        matrix = self.weights[name]
        size = len(row)
        return [sum(a * b for a, b in zip(matrix[at:at + size], row)) for at in range(0, len(matrix), size)]

    def linear(self, name, row):
        out = self.product(name, row)
        if name + ".bias" in self.weights:
            out = add(out, self.weights[name + ".bias"])
        if name + ".a" in self.weights:
            scale = self.job.alpha / self.job.rank
            out = add(out, [scale * x for x in self.product(name + ".b", self.product(name + ".a", row))])
        return out

    def norm(self, name, row):
        mean = sum(row) / len(row) if self.job.norm == "layer" else 0.0
        row = [x - mean for x in row]
        scale = 1 / math.sqrt(sum(x * x for x in row) / len(row) + self.job.eps)
        row = [x * scale * w for x, w in zip(row, self.weights[name])]
        return add(row, self.weights[name + ".bias"]) if self.job.norm == "layer" else row

    def turn(self, head, position):
        """Rotary positions, the halves of a head as pairs (Llama's)."""
        if self.job.positions != "rotary":
            return head
        half = len(head) // 2
        out = list(head)
        for at in range(half):
            angle = position / self.job.theta**(2 * at / len(head))
            cos, sin = math.cos(angle), math.sin(angle)
            out[at], out[at + half] = head[at] * cos - head[at + half] * sin, head[at + half] * cos + head[at] * sin
        return out

    def attention(self, name, rows):
        job, size = self.job, self.job.head_dim
        heads = {part: [rows_of(self.linear(name + part, row), size) for row in rows] for part in "qkv"}
        out = []
        for at, queries in enumerate(heads["q"]):
            row = []
            for head, query in enumerate(queries):
                query, group = self.turn(query, at), head * job.kv_heads // job.heads
                seen = range(at + 1 if job.causal else len(rows))
                keys = [self.turn(heads["k"][other][group], other) for other in seen]
                scores = [math.exp(sum(a * b for a, b in zip(query, key)) / math.sqrt(size)) for key in keys]
                whole = sum(scores)
                row += [sum(score * heads["v"][other][group][i] for score, other in zip(scores, seen)) / whole for i in range(size)]
            out.append(self.linear(name + "o", row))
        return out

    def mlp(self, name, row):
        active = ACTIVATIONS[self.job.activation]
        up = self.linear(name + "up", row)
        if self.job.gated:
            inner = [active(a) * b for a, b in zip(self.linear(name + "gate", row), up)]
        else:
            inner = [active(a) for a in up]
        return self.linear(name + "down", inner)

    def begin(self, sample):
        """A sample's rows before the first layer."""
        job, hidden = self.job, self.job.hidden
        if job.vocabulary:
            rows = [self.weights["embedding"][token * hidden:(token + 1) * hidden] for token in sample]
        else:
            rows = [self.linear("input", row) for row in rows_of(sample, job.features)]
        if job.positions == "learned":
            rows = [add(row, self.weights["positions"][at * hidden:(at + 1) * hidden]) for at, row in enumerate(rows)]
        return rows

    def outputs(self, sample):
        rows = self.begin(sample)
        for index in range(self.job.layers):
            name = f"{index}."
            attended = self.attention(name, [self.norm(name + "norm1", row) for row in rows])
            rows = [add(row, more) for row, more in zip(rows, attended)]
            rows = [add(row, self.mlp(name, self.norm(name + "norm2", row))) for row in rows]
        head = "embedding" if self.job.tied else "head"
        return [self.linear(head, self.norm("norm", row)) for row in rows]

    def loss(self):
        job = self.job
        inputs, labels, outputs = job.inputs(), job.labels(), []
        width = len(inputs) // job.batch
        for at in range(job.batch):
            rows = self.outputs(inputs[at * width:(at + 1) * width])
            outputs += rows[:1] if job.per_sample else rows
        if job.outputs:
            found = [x for row in outputs for x in row]
            return sum((a - b)**2 for a, b in zip(found, labels)) / len(found)
        counted = [(row, label) for row, label in zip(outputs, labels) if label >= 0]
        return sum(math.log(sum(math.exp(x) for x in row)) - row[label] for row, label in counted) / len(counted)


def loss_and_slope(job):
    """The loss, and how fast it grows in the direction that draw() gives: one number that every gradient is part of."""
    weights, directions = draw(job)

    def moved(far):
        return {name: [w + far * d for w, d in zip(row, directions[name])] if name in directions else row for name, row in weights.items()}

    slope = (Model(job, moved(STEP)).loss() - Model(job, moved(-STEP)).loss()) / (2 * STEP)
    return Model(job, weights).loss(), slope
