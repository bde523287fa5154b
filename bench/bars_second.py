# SPDX-License-Identifier: Apache-2.0
"""The allocator's second round of bars: calls near the live peak, memory and calls with plenty, the time of an event.

What PyTorch holds and calls is its model's, which equals the real one to the byte; only times need the real one.
Each verdict is a row [bar, wanted, found, verdict].
"""
import math

import replays
from bars import figure, over, ratio, verdict, worst

MODES = {"headroom": "torch-expandable", "headroom-no-vmm": "torch"}  # Ours, and PyTorch's of the same kind.
# (policy, share of the live peak above it in percent, the most calls per 1,000 events after the second iteration)
EDGES = [("headroom", 1, 5), ("headroom", 3, 1), ("headroom-no-vmm", 3, 5)]
FAILED = math.inf


def edge_key(percent):
    return f"steady_at_{percent}"


def measure_edges(programs, trace, policy, live):
    """{edge_key: steady calls per 1,000 events; FAILED if the trace does not finish; None without a second iteration}."""
    row = {}
    for percent in sorted({percent for name, percent, _ in EDGES if name == policy}):
        run = programs.replay(trace, policy, live + live * percent // 100)
        row[edge_key(percent)] = run["steady_device_calls_per_1000"] if run["completed"] else FAILED
    return row


def apart(rows, policy, other, key):
    ours, theirs = figure(rows, policy, key), figure(rows, other, key)
    return None if ours is None or theirs is None else ours - theirs


def misses(figures, limit):
    """How many of the traces miss, for the figure of the worst says nothing of the others."""
    known = [value for value in figures.values() if value is not None]
    return f", {sum(value > limit + 1e-9 for value in known)} of {len(known)} miss" if known else ""


def at_most(figures, limit, bar, wanted, form):
    row = worst(figures, limit, bar, wanted, form)
    row[2] = row[2].replace("inf", "does not finish") + misses(figures, limit)
    if FAILED in figures.values():
        row[3] = "missed: a trace does not finish"
    return row


def judge_times(measured, of):
    rows = []
    for policy in MODES:
        rows += [
            worst(of(lambda r: figure(r, policy, "p99_9_ns")), 1000, f"p99.9 of an event: {policy}", "≤ 1000 ns", "{:.0f} ns"),
            worst(of(lambda r: figure(r, policy, "ns_per_event")), 50, f"an event: {policy}", "≤ 50 ns, quiet", "{:.0f} ns"),
            worst(of(lambda r: ratio(r, policy, "pytorch-native")), 4, f"PyTorch's time of an event / ours: {policy}", "≥ 4", "{:.2f}", above=False),
        ]
    return rows


def judge(measured):
    """`measured`: {trace: {policy: row}}, of which a trace's name that ends in "-steps" says that it repeats."""
    def of(take, which=None):
        return {name: take(rows) for name, rows in (which or measured).items()}

    steps = {name: rows for name, rows in measured.items() if name.endswith("-steps")}
    rows = [at_most(of(lambda r, p=policy, k=edge_key(percent): figure(r, p, k)), limit,
                    f"steady calls per 1000 events at {percent} % over live: {policy}", f"≤ {limit}", "{:.1f}")
            for policy, percent, limit in EDGES]
    rows.append(at_most(of(lambda r: figure(r, "headroom-no-vmm", "needs"), steps) if steps else {}, 3,
                        "capacity: no-vmm, repeating", "≤ +3 %", "{:+.1f} %"))
    rows.append(at_most(of(lambda r: over(r, "headroom", "torch-expandable")), 0.5, "capacity: headroom over torch-expandable",
                        "≤ 0.5", "{:+.1f} points"))
    for policy, other in MODES.items():
        rows.append(at_most(of(lambda r, p=policy: apart(r, p, "torch", "holds")), 0, f"held with plenty: {policy} over torch", "≤ 0",
                            "{:+.1f} points"))
        rows.append(at_most(of(lambda r, p=policy, o=other: apart(r, p, o, "plenty_calls")), 0,
                            f"device calls with plenty: {policy} over {other}", "≤ 0", "{:+.0f}"))
    return rows + judge_times(measured, of)


def print_measured(measured):
    """What the exact bars are judged by, trace by trace."""
    head = (["trace"] + [f"{policy} +{percent} %" for policy, percent, _ in EDGES] + ["no-vmm needs %"] +
            [f"{policy}: holds % / calls" for policy in replays.OURS])
    table = []
    for name, rows in measured.items():
        edges = [figure(rows, policy, edge_key(percent)) for policy, percent, _ in EDGES]
        table.append([name] + ["fails" if edge == FAILED else replays.show(edge) for edge in edges] +
                     [replays.show(figure(rows, "headroom-no-vmm", "needs"), "{:+.1f}")] +
                     [f"{replays.show(figure(rows, policy, 'holds'), '{:+.1f}')} / {replays.show(figure(rows, policy, 'plenty_calls'), '{:.0f}')}"
                      for policy in replays.OURS])
    replays.print_table(head, table)
