# SPDX-License-Identifier: Apache-2.0
"""The job in PyTorch, from 1.13 on, with the operations that transformers' Llama is made of, so that the plan of such a job is its plan."""
import math

import torch
from torch.utils.checkpoint import checkpoint

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
F = torch.nn.functional
ACTIVATIONS = {"silu": F.silu, "gelu": F.gelu, "relu": F.relu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh")}
VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])


def turn(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


class Model:
    def __init__(self, job, weights):
        self.job, self.weights = job, weights

    def linear(self, name, x):
        out = F.linear(x, self.weights[name], self.weights.get(name + ".bias"))
        if name + ".a" not in self.weights:
            return out
        first, second = self.weights[name + ".a"], self.weights[name + ".b"]
        return out + F.linear(F.linear(x.to(first.dtype), first), second) * (self.job.alpha / self.job.rank)

    def norm(self, name, x):
        weight = self.weights[name]
        if self.job.norm == "layer":
            return F.layer_norm(x, weight.shape, weight, self.weights[name + ".bias"], self.job.eps)
        wide = x.to(torch.float32)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.job.eps)
        return weight * wide.to(x.dtype)

    def angles(self, x):
        if self.job.positions != "rotary":
            return None
        size = self.job.head_dim
        steps = 1.0 / self.job.theta**(torch.arange(0, size, 2, dtype=torch.float32, device=x.device) / size)
        angles = torch.outer(torch.arange(self.job.sequence, dtype=torch.float32, device=x.device), steps)
        angles = torch.cat((angles, angles), -1)
        return angles.cos().to(x.dtype), angles.sin().to(x.dtype)

    def attend(self, q, k, v):
        groups = self.job.heads // self.job.kv_heads
        if not hasattr(F, "scaled_dot_product_attention"):
            k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
            scores = q @ k.transpose(-1, -2) / math.sqrt(self.job.head_dim)
            if self.job.causal:
                size = self.job.sequence
                scores = scores.masked_fill(torch.ones(size, size, dtype=torch.bool, device=q.device).triu(1), -math.inf)
            return torch.softmax(scores, -1, dtype=torch.float32).to(q.dtype) @ v
        if groups > 1 and VERSION >= (2, 5):
            return F.scaled_dot_product_attention(q, k, v, is_causal=self.job.causal, enable_gqa=True)
        if groups > 1:
            shape = (k.shape[0], self.job.heads, *k.shape[2:])
            k, v = (x[:, :, None].expand(-1, -1, groups, -1, -1).reshape(shape) for x in (k, v))
        return F.scaled_dot_product_attention(q, k, v, is_causal=self.job.causal)

    def layer(self, x, name, angles):
        job = self.job
        normed = self.norm(name + "norm1", x)
        q, k, v = (self.linear(name + part, normed).view(*x.shape[:2], -1, job.head_dim).transpose(1, 2) for part in "qkv")
        if angles:
            q, k = turn(q, *angles), turn(k, *angles)
        attended = self.attend(q, k, v).transpose(1, 2).reshape(*x.shape[:2], -1)
        x = x + self.linear(name + "o", attended)
        normed = self.norm(name + "norm2", x)
        active = ACTIVATIONS[job.activation]
        if job.gated:
            inner = active(self.linear(name + "gate", normed)) * self.linear(name + "up", normed)
        else:
            inner = active(self.linear(name + "up", normed))
        return x + self.linear(name + "down", inner)

    def outputs(self, inputs):
        job = self.job
        x = F.embedding(inputs, self.weights["embedding"]) if job.vocabulary else self.linear("input", inputs)
        if job.positions == "learned":
            x = x + self.weights["positions"][:job.sequence]
        if job.rank and job.checkpointing:
            x.requires_grad_()
        angles = self.angles(x)
        for index in range(job.layers):
            if job.checkpointing:
                x = checkpoint(self.layer, x, f"{index}.", angles, use_reentrant=False)
            else:
                x = self.layer(x, f"{index}.", angles)
        return self.linear("embedding" if job.tied else "head", self.norm("norm", x))

    def loss(self, inputs, labels):
        outputs = self.outputs(inputs).float()
        if not self.job.outputs:
            return F.cross_entropy(outputs.view(-1, outputs.shape[-1]), labels)
        return F.mse_loss(outputs[:, :1] if self.job.per_sample else outputs, labels)


def batch_of(job, device):
    shape = (job.batch, job.sequence)
    inputs = torch.tensor(job.inputs())
    inputs = inputs.view(shape) if job.vocabulary else inputs.view(*shape, job.features).to(DTYPES[job.dtype])
    labels = torch.tensor(job.labels())
    if job.outputs:
        labels = labels.view(job.batch, -1, job.outputs)
    return inputs.to(device), labels.to(device)
