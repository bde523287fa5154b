# SPDX-License-Identifier: Apache-2.0
"""Trains a small GPT on sequences of many lengths, each step one padded batch, in plain PyTorch: what fragments caching allocators. It
knows nothing of headroom; the arithmetic is the CPU's, on a GPU that is made of memory.

    variable_lengths.py STEPS [WIDTH LAYERS LONGEST]

Prints the most bytes that were live, the seconds of each step by the clock and of the processor, and the last loss to the last bit.
"""
import sys
import time

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import on_cpu

WORDS = 2048
BATCH = 2


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm_in, self.norm_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm_in(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-2, -1)) * (width // self.heads) ** -0.5
        mask = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm_mlp(x))


class Gpt(nn.Module):
    def __init__(self, width, layers, longest):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, width), nn.Embedding(longest, width)
        self.blocks = nn.ModuleList(Block(width, width // 64) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, WORDS, bias=False)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return self.head(self.norm(x))


def main(steps, width=256, layers=8, longest=512):
    on_cpu.install()
    torch.manual_seed(0)
    model = Gpt(width, layers, longest).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    chance = torch.Generator().manual_seed(1)
    seconds, processor = [], []
    for _ in range(steps):
        begun, used = time.perf_counter(), time.process_time()
        length = int(torch.randint(longest // 8, longest + 1, (), generator=chance))
        tokens = torch.randint(0, WORDS, (BATCH, length + 1), generator=chance).to("cuda")
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        value = loss.item()
        del tokens, logits, loss
        seconds.append(time.perf_counter() - begun)
        processor.append(time.process_time() - used)
    print("peak", torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
    print("seconds", *(f"{one:.4f}" for one in seconds))
    print("processor", *(f"{one:.4f}" for one in processor))
    print("loss", repr(value), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
