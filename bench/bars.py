# SPDX-License-Identifier: Apache-2.0
"""Holds what was measured against the allocator's bars; each verdict is a row [bar, wanted, found, verdict]."""
import pathlib

import replays


def verdict(found, limit, above=True):
    """met, or missed by how much; `above`: a larger figure misses."""
    if found is None:
        return "not known"
    missed = found - limit if above else limit - found
    return "met" if missed <= 1e-9 else f"missed by {missed:.2g}" if missed < 10 else f"missed by {missed:.0f}"


def worst(figures, limit, bar, wanted, form, above=True):
    """The row for the figure that is worst among {trace: figure or None}."""
    known = {name: figure for name, figure in figures.items() if figure is not None}
    if not known:
        return [bar, wanted, "-", "not known"]
    pick = max if above else min
    name = pick(known, key=known.get)
    return [bar, wanted, f"{form.format(known[name])} ({name})", verdict(known[name], limit, above)]


def figure(rows, policy, key):
    return rows.get(policy, {}).get(key)


def over(rows, policy, other):
    """By how many points of the live peak a policy needs more than another."""
    ours, theirs = figure(rows, policy, "needs"), figure(rows, other, "needs")
    return None if ours is None or theirs is None else ours - theirs


def ratio(rows, policy, peer):
    ours, theirs = figure(rows, policy, "ns_per_event"), figure(rows, peer, "ns_per_event")
    return None if not ours or theirs is None else theirs / ours


def per_100000(rows, policy):
    repairs, events = figure(rows, policy, "repairs"), figure(rows, policy, "events")
    return None if repairs is None or not events else repairs * 1e5 / events


def judge_scaling(scaling):
    """`scaling`: of replays.Programs.scaling(), with the load that the machine had before; None if not run. Threads that share
    the cores with other programs' cannot miss a bar, only meet it all the same."""
    rows = []
    for threads, wanted in ((2, 1.7), (4, 3.0)):
        found, result = "-", "not known"
        if scaling is not None:
            ratio = scaling[f"scaling_{threads}"]
            found = f"{ratio:.2f} ({scaling[f'processor_scaling_{threads}']:.2f} of processor time)"
            result = verdict(ratio, wanted, above=False)
            if scaling["cores"] < threads:
                result = f"not known: {scaling['cores']} cores"
            elif result != "met" and scaling["load"] > scaling["cores"] - threads + 0.5:
                result = f"not known: a load of {scaling['load']:.0f} beside it"
        rows.append([f"throughput: {threads} threads on {threads} streams against 1", f"≥ {wanted}", found, result])
    return rows


def story(programs, traces):
    """{policy: whether it finishes the story's trace at the story's capacity}; empty without that trace."""
    name, capacity = replays.STORY
    for trace in traces:
        if pathlib.Path(trace).stem == name:
            ran = {policy: programs.replay(trace, policy, capacity) for policy in replays.OURS + replays.PEERS}
            return {policy: row for policy, row in ran.items() if row is not None}
    return {}


def judge_story(finished):
    rows = []
    for policy, wanted in (("headroom", True), ("headroom-no-vmm", True), ("pytorch-native", False)):
        row = finished.get(policy)
        found = "-" if row is None else "finishes" if row["completed"] else f"out of memory at event {row['failed_at']}"
        result = "not known" if row is None else "met" if row["completed"] == wanted else "missed"
        rows.append([f"the story: {policy}", "finishes" if wanted else "dies", found, result])
    return rows


def judge(measured, finished, agrees, scaling):
    """`measured`: {trace: {policy: row}}; `finished`: of story(); `agrees`: of torch_agreement.report(), None if not run;
    `scaling`: as judge_scaling()."""
    steps = {name: rows for name, rows in measured.items() if name.endswith("-steps")}

    def of(which, take):
        return {name: take(rows) for name, rows in which.items()}

    rows = [
        worst(of(measured, lambda r: figure(r, "headroom", "needs")), 2, "capacity: headroom", "≤ +2 %", "{:+.1f} %"),
        worst(of(steps, lambda r: figure(r, "headroom-no-vmm", "needs")), 5, "capacity: no-vmm, repeating", "≤ +5 %", "{:+.1f} %"),
        worst(of(measured, lambda r: over(r, "headroom-no-vmm", "torch")), 0, "capacity: no-vmm over torch", "≤ 0", "{:+.1f} points"),
        worst(of(measured, lambda r: over(r, "headroom", "torch-expandable")), 0.5, "capacity: headroom over torch-expandable", "≤ 0.5", "{:+.1f} points"),
    ]
    for policy in ("headroom", "headroom-no-vmm"):
        rows.append(worst(of(measured, lambda r, p=policy: figure(r, p, "steady_device_calls_per_1000")), 5,
                          f"device calls per 1000 events, steady: {policy}", "≤ 5", "{:.1f}"))
    rows += judge_story(finished)
    rows.append(["torch is PyTorch's, to the byte", "all", "-" if agrees is None else "all" if agrees else "not all",
                 "not known" if agrees is None else "met" if agrees else "missed"])
    host = {name: rows_ for name, rows_ in measured.items() if figure(rows_, "headroom", "backend") == "host"}
    rows += [
        worst(of(host, lambda r: figure(r, "headroom", "median_ns")), 100, "speed: median, host memory", "≤ 100 ns", "{:.0f} ns"),
        worst(of(host, lambda r: figure(r, "headroom", "p99_9_ns")), 2000, "speed: p99.9, host memory", "≤ 2000 ns", "{:.0f} ns"),
        worst(of(measured, lambda r: ratio(r, "headroom", "pytorch-native")), 2, "speed: PyTorch's time / ours", "≥ 2", "{:.2f}", above=False),
    ]
    rows += judge_scaling(scaling)
    rows += [
        worst(of(measured, lambda r: per_100000(r, "headroom")), 50, "repairs per 100,000 events", "≤ 50", "{:.0f}"),
        worst(of(steps, lambda r: figure(r, "headroom", "steady_repairs")), 0, "repairs after the third iteration", "0", "{:.0f}"),
    ]
    return rows
