#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds our models of PyTorch's allocators against PyTorch's own (bench/peers).

    torch_agreement.py BINARIES TORCH_PEER TRACE...

Every trace with plentiful memory, at its live peak and at several capacities above. `torch` must finish or fail at the same
event as the real one, with the same bytes reserved at the peak; how far `torch-expandable` is off is printed. Exit code 1 if
`torch` disagrees anywhere.
"""
import pathlib
import sys

import replays

ABOVE_LIVE_PEAK = (0.0, 0.5, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 20, 22, 25, 30, 40)


def capacities(trace, live_peak):
    """Unlimited (None), then a grid above the live peak; for the story's trace the story's capacity too."""
    grid = [None] + [int(live_peak * (1 + above / 100)) for above in ABOVE_LIVE_PEAK]
    name, capacity = replays.STORY
    return grid + [capacity] * (pathlib.Path(trace).stem == name)


def compare(programs, trace, model, peer):
    """(runs, runs that agree, the largest difference of peak reserved in percent, what differs most)."""
    live_peak = programs.replay(trace, "exact")["peak_live_bytes"]
    agreed, worst, example, runs = 0, 0.0, "", capacities(trace, live_peak)
    for capacity in runs:
        ours, real = programs.replay(trace, model, capacity), programs.replay(trace, peer, capacity)
        keys = ("completed", "failed_at", "peak_reserved_bytes", "peak_live_bytes")
        if all(ours[key] == real[key] for key in keys):
            agreed += 1
            continue
        apart = abs(ours["peak_reserved_bytes"] / real["peak_reserved_bytes"] - 1) * 100
        if not example or apart > worst:
            example = f"at {capacity or 'unlimited'}: " + ", ".join(f"{key} {ours[key]} / {real[key]}" for key in keys if ours[key] != real[key])
        worst = max(worst, apart)
    return len(runs), agreed, worst, example


def report(programs, traces):
    """Prints the comparison; True if `torch` agrees everywhere."""
    rows, agrees = [], True
    for trace in traces:
        row = [pathlib.Path(trace).stem]
        for model, peer in zip(("torch", "torch-expandable"), replays.PEERS):
            runs, agreed, worst, example = compare(programs, trace, model, peer)
            agrees = agrees and (model != "torch" or agreed == runs)
            row += [f"{agreed}/{runs}", f"{worst:.2f} %", example or "-"]
        rows.append(row)
    replays.print_table(["trace", "torch agrees", "reserved off by", "example, ours / real", "torch-expandable agrees", "reserved off by",
                         "example, ours / real"], rows, words=7)
    return agrees


if __name__ == "__main__":
    if len(sys.argv) < 4:
        raise SystemExit(__doc__)
    sys.exit(0 if report(replays.Programs(sys.argv[1], sys.argv[2]), sys.argv[3:]) else 1)
