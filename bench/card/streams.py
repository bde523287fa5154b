# SPDX-License-Identifier: Apache-2.0
"""Blocks that two streams of a real GPU hand to each other, read late on purpose: what is reused too early shows as a wrong sum.

    streams.py ROUNDS

Prints how many blocks were handed over, and "right" or how many sums were wrong.
"""
import sys

import torch

SIDE = 4096
SIZES = (1 << 16, 1 << 20, 3 << 20, 24 << 20)  # Bytes: small and large blocks.


def main(rounds):
    busy = torch.randn(SIDE, SIDE, device="cuda")
    side = torch.cuda.Stream()
    sums, expected, handed = [], [], 0
    for number in range(rounds):
        block = torch.full((SIZES[number % len(SIZES)] // 4,), float(number % 7), device="cuda")
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            busy @ busy  # So that the sum is read long after the block is freed.
            sums.append(block.double().sum())
        expected.append(float(number % 7) * block.numel())
        block.record_stream(side)
        del block
        handed += 1
        # Who takes the block at once writes over it.
        torch.full((SIZES[(number + 1) % len(SIZES)] // 4,), -1.0, device="cuda")
    torch.cuda.synchronize()
    wrong = sum(one.item() != right for one, right in zip(sums, expected, strict=True))
    print("streams", handed, "blocks", "right" if wrong == 0 else f"WRONG {wrong}", flush=True)


main(int(sys.argv[1]))
