#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The allocator's bars as one table: what every policy needs, holds, asks of the device and costs on every trace.

    allocator_table.py BINARIES [--peer TORCH_PEER] [--no-peer REASON] [--traces FOLDER] [--generate FOLDER] [--rounds N] [--bars]

BINARIES holds headroom, allocator_speed and allocator_threads, optimised. Where the folder of --traces has none, the bench's own are used,
which are written to --generate. --rounds 0 takes no times. --bars prints the bars of the second round too, over the bench's own traces as
well. Exit code 0 whatever the figures are, unless --bars is given: then 1 if one is missed.
"""
import argparse
import os
import pathlib
import sys

import bars
import bars_second
import generated_traces
import replays
import torch_agreement

EXTRA_KEYS = {  # What later versions of `headroom replay` print, and the heads of their columns.
    "steady_device_calls_per_1000": "steady calls/1000",
    "repairs": "repairs",
    "steady_repairs": "steady repairs",
    "device_ms": "device ms",
}
BAR_HEAD = ["bar", "wanted", "found", "verdict"]
HOST_SHARE = 0.5  # Of the free memory that real pages may take.


def free_memory_bytes():
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def measure_needs(programs, trace, policy):
    """Capacity to finish, reserved with plentiful memory, and what the run at the needed capacity asked of the device."""
    plenty = programs.replay(trace, policy, min_capacity=True)
    if plenty is None:
        return None
    row = {"live": plenty["peak_live_bytes"], "events": plenty["events"],
           "holds": replays.percent_above(plenty["peak_reserved_bytes"], plenty["peak_live_bytes"]),
           "needs": replays.percent_above(plenty["min_capacity_bytes"], plenty["peak_live_bytes"]),
           "plenty_calls": plenty["device_calls"]}
    if policy in bars_second.MODES:
        row.update(bars_second.measure_edges(programs, trace, policy, row["live"]))
    if plenty["min_capacity_bytes"] is not None:
        tight = programs.replay(trace, policy, capacity=plenty["min_capacity_bytes"])
        row["calls"] = 1000 * tight["device_calls"] / tight["events"] if tight["events"] else None
        row.update({key: tight[key] for key in EXTRA_KEYS if tight.get(key) is not None})
    return row


def measure_speed(programs, trace, rows, rounds):
    """Adds the times of every policy, taken by turns so that a busy machine is busy for all; the best of the rounds."""
    live = rows["headroom"]["live"]
    capacity = live + live // 4 + (64 << 20)  # Enough for no repair once the trace is warm.
    fits = capacity < HOST_SHARE * free_memory_bytes()
    for policy in rows:
        rows[policy]["backend"] = "host" if fits and policy == "headroom" else "counted"
    for _ in range(rounds):
        for policy, row in rows.items():
            # Models of others get plentiful memory, as the real ones do here.
            limit = capacity if policy.startswith("headroom") else "64TiB"
            times = programs.times(trace, policy, row["backend"], limit, repeat=3) or {}
            for key, value in times.items():
                row[key] = value if row.get(key) is None else min(row[key], value)


def measure(programs, trace, rounds):
    """{policy: row} of the policies that there are."""
    rows = {policy: measure_needs(programs, trace, policy) for policy in replays.OURS + replays.PEERS}
    rows = {policy: row for policy, row in rows.items() if row is not None}
    measure_speed(programs, trace, rows, rounds)
    return rows


def print_measured(measured):
    extra = [key for key in EXTRA_KEYS if any(key in row for rows in measured.values() for row in rows.values())]
    head = (["trace", "policy", "needs %", "holds %", "calls/1000"] + [EXTRA_KEYS[key] for key in extra] +
            ["ns/event", "median", "p99.9", "memory"])
    table = []
    for name, rows in measured.items():
        for policy, row in rows.items():
            table.append([name, policy, replays.show(row["needs"], "{:+.1f}"), replays.show(row["holds"], "{:+.1f}"), replays.show(row.get("calls"))] +
                         [replays.show(row.get(key)) for key in extra] +
                         [replays.show(row.get(key), "{:.0f}") for key in ("ns_per_event", "median_ns", "p99_9_ns")] + [row["backend"]])
            name = ""
    replays.print_table(head, table, words=2)


def print_scaling(programs, trace, rounds):
    """The throughput of several threads as a table of its own; what was measured."""
    load = os.getloadavg()[0]
    scaling = programs.scaling(trace, 4 * rounds)
    if scaling is None:
        return None
    scaling["load"] = load
    print(f"Threads, each replaying {trace.stem} on a stream of its own, on {scaling['cores']} cores with a load of {load:.0f} "
          "beside them:\nmillion events per second of all of them together, best of rounds by turns")
    rows = [[str(threads), f"{speed:.1f}", "" if threads == 1 else f"{scaling[f'scaling_{threads}']:.2f}",
             "" if threads == 1 else f"{scaling[f'processor_scaling_{threads}']:.2f}"]
            for threads, speed in zip((1, 2, 4), scaling["million_events_per_s"])]
    replays.print_table(["threads", "events", "against 1", "of processor time"], rows)
    print()
    return scaling


def print_second_round(programs, measured, more, rounds):
    """The verdicts on what was measured and on further traces of jobs."""
    measured = measured | {trace.stem: measure(programs, trace, rounds) for trace in more}
    print("\nThe second round: steady device calls per 1000 events so much over live, capacity, and what is held and called with plenty")
    bars_second.print_measured(measured)
    print()
    verdicts = bars_second.judge(measured)
    replays.print_table(BAR_HEAD, verdicts, words=4)
    return verdicts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries")
    parser.add_argument("--peer")
    parser.add_argument("--no-peer", default="not built")
    parser.add_argument("--traces", default="../shared/traces")
    parser.add_argument("--generate", default="build/traces")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bars", action="store_true")
    options = parser.parse_args()
    programs = replays.Programs(options.binaries, options.peer, options.no_peer)
    own, others = generated_traces.write(options.generate)
    recorded = sorted(pathlib.Path(options.traces).glob("*.trace"))
    traces = recorded or own
    print(f"{len(traces)} traces from {options.traces if recorded else options.generate}; percent are above the live peak; calls, repairs and "
          "device ms at the capacity needed;\nns of processor time, warm, memory to spare, best of "
          f"{options.rounds} rounds by turns; median of batches of 64 events, p99.9 of single events, wall time\n")
    measured = {trace.stem: measure(programs, trace, options.rounds) for trace in traces}
    print_measured(measured)
    print()
    agrees = None
    if programs.peer is None:
        print(f"PyTorch's own allocator: skipped: {programs.why_no_peer}\n")
    else:
        print("Our models against PyTorch's own allocator, runs at 20 capacities each")
        agrees = torch_agreement.report(programs, [*recorded, *own, *others])
        print()
    scaling = None if options.rounds == 0 else print_scaling(programs, max(traces, key=lambda trace: trace.stat().st_size), options.rounds)
    verdicts = bars.judge(measured, bars.story(programs, traces), agrees, scaling)
    replays.print_table(BAR_HEAD, verdicts, words=4)
    if options.bars:
        verdicts += print_second_round(programs, measured, own if recorded else [], options.rounds)
    return 1 if options.bars and any(row[3].startswith("missed") for row in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
