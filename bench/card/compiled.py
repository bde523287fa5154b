# SPDX-License-Identifier: Apache-2.0
"""A training step by torch.compile in the mode that captures graphs ("reduce-overhead"), as people speed up small models.

    compiled.py STEPS
"""
import sys

import torch
from torch import nn


def main(steps):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    fast = torch.compile(model, mode="reduce-overhead")
    x = torch.randn(64, 256, device="cuda")
    for _ in range(steps):
        loss = fast(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print("compiled", steps, "steps, loss", repr(loss.item()), flush=True)


main(int(sys.argv[1]))
