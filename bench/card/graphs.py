# SPDX-License-Identifier: Apache-2.0
"""A training step captured as a graph on a real GPU, in its private pool, and played beside work that is not captured.

    graphs.py STEPS

Prints the largest difference between the weights of the captured training and of the same one without capture, and what is
reserved before, with and after the graph, in MiB.
"""
import sys

import torch
from torch import nn

WIDTH, ROWS = 512, 256


def make():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, 1)).cuda()
    return model, torch.optim.SGD(model.parameters(), lr=1e-2)


def step(model, optimizer, x, y):
    optimizer.zero_grad(set_to_none=False)
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()


def batches(count):
    chance = torch.Generator().manual_seed(1)
    return [(torch.randn(ROWS, WIDTH, generator=chance).cuda(), torch.randn(ROWS, 1, generator=chance).cuda()) for _ in range(count)]


def warm_up(model, optimizer, x, y):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step(model, optimizer, x, y)
    torch.cuda.current_stream().wait_stream(side)


def reserved():
    torch.cuda.synchronize()
    return torch.cuda.memory_reserved() >> 20


def main(steps):
    data = batches(8)
    plain, optimizer = make()
    warm_up(plain, optimizer, *data[0])
    for number in range(steps):
        step(plain, optimizer, *data[number % 8])
    before = reserved()

    captured, optimizer = make()
    x, y = (one.clone() for one in data[0])
    warm_up(captured, optimizer, x, y)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(captured, optimizer, x, y)
    for number in range(steps):
        x.copy_(data[number % 8][0])
        y.copy_(data[number % 8][1])
        graph.replay()
        torch.full((1 << 22,), -1.0, device="cuda")  # Would write over what the graph reads, if it lay there.
    torch.cuda.synchronize()
    difference = max((one - other).abs().max().item() for one, other in zip(plain.parameters(), captured.parameters(), strict=True))
    during = reserved()
    del graph, captured, optimizer
    torch.cuda.empty_cache()
    print("graphs", steps, "replays, largest difference", difference, "reserved MiB", before, during, reserved(), flush=True)


main(int(sys.argv[1]))
