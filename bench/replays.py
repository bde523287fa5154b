# SPDX-License-Identifier: Apache-2.0
"""Runs the programs that replay a trace, ours and PyTorch's own allocator (bench/peers), and lays tables out."""
import functools
import json
import pathlib
import subprocess

OURS = ["headroom", "headroom-no-vmm", "torch", "torch-expandable"]
PEERS = ["pytorch-native", "pytorch-expandable"]
STORY = ("gpt-24x1024-variable", "20464MiB")


class Programs:
    """`binaries`: the folder of headroom and allocator_speed; `peer`: torch_peer, or None and why."""

    def __init__(self, binaries, peer, why_no_peer=""):
        self.headroom = pathlib.Path(binaries) / "headroom"
        self.speed = pathlib.Path(binaries) / "allocator_speed"
        self.threads = pathlib.Path(binaries) / "allocator_threads"
        self.peer, self.why_no_peer = peer, why_no_peer

    @functools.cache
    def knows(self, policy):
        """Whether there is a policy of this name: headroom-no-vmm is younger than this script, and the peer may be absent."""
        if policy in PEERS:
            return self.peer is not None
        asked = subprocess.run([self.headroom, "replay", "no such trace", "--policy", policy], capture_output=True, text=True)
        return asked.returncode != 2  # Wrong usage is told before the trace is looked for.

    def replay(self, trace, policy, capacity=None, min_capacity=False):
        """The JSON object of one replay, or None if there is no such policy."""
        if not self.knows(policy):
            return None
        if policy in PEERS:
            command = [self.peer, trace, "--policy", policy, "--min-capacity", "yes" if min_capacity else "no"]
        else:
            command = [self.headroom, "replay", trace, "--policy", policy, "--json"] + ["--min-capacity"] * min_capacity
        if capacity is not None:
            command += ["--capacity", str(capacity)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise SystemExit(f"{' '.join(map(str, command))}: exit code {done.returncode}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def times(self, trace, policy, backend, capacity, repeat):
        """Warm ns_per_event, median_ns and p99_9_ns; None if there is no such policy or it does not fit."""
        if not self.knows(policy):
            return None
        command = ([self.peer, trace, "--policy", policy, "--repeat", str(repeat)] if policy in PEERS else
                   [self.speed, trace, "--policy", policy, "--backend", backend, "--capacity", str(capacity), "--repeat", str(repeat)])
        done = subprocess.run(command, capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def scaling(self, trace, rounds):
        """What allocator_threads says of a trace; None where it does not run."""
        done = subprocess.run([self.threads, trace, "--rounds", str(rounds), "--repeat", "3"], capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else None


def percent_above(value, base):
    return None if value is None or not base else 100 * (value / base - 1)


def show(value, form="{:.1f}"):
    return "-" if value is None else form.format(value)


def print_table(head, rows, words=1):
    """Columns as wide as their widest cell; the first so many to the left, the others to the right."""
    table = [head] + rows
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    for row in table:
        print("  ".join(cell.ljust(width) if i < words else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))).rstrip())
