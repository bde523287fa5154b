#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names what the planner has wrong: its sequence of allocations beside the one PyTorch made.

    align.py STEP_SEQUENCE JOB.json SNAPSHOT.pickle [--phase forward|backward|optimizer|generate] [--least MIB] [--events]

STEP_SEQUENCE is the program of tests/plan/step_sequence_main.cpp. SNAPSHOT is what torch.cuda.memory._snapshot() gave, pickled,
of the same job, recorded from before the model was made (stacks="python"), with at least two optimizer steps. For each phase
of the last step: both peaks, and, of what lives at each, the sizes of which one side has more, with the planner's names and
PyTorch's lines of Python. --events also lines up the phase's allocations one after the other and prints where they part.
"""
import argparse, collections, difflib, pathlib, pickle, subprocess

ROUND = 512  # What PyTorch's allocator rounds to.


class Event(tuple):
    """(phase, "+" or "-", identity, bytes, name)"""


def planned(program, job):
    run = subprocess.run([program], input=job.read_text(), capture_output=True, text=True, check=True)
    sizes, names = {}, {}
    for line in run.stdout.splitlines():
        phase, sign, tensor, *rest = line.split(" ", 4)
        if sign == "+":
            sizes[tensor], names[tensor] = -(-int(rest[0]) // ROUND) * ROUND, rest[1]
        yield Event((phase, sign, tensor, sizes[tensor], names[tensor]))


def name_of(frames):
    """The innermost lines of Python that are no machinery of modules."""
    own = [f"{pathlib.Path(f['filename']).stem}:{f['line']} {f['name']}" for f in frames if "nn/modules/module" not in f["filename"]]
    return " < ".join(own[:3]) or "(backward)"


def phase_of(frames, before):
    files = [f["filename"] for f in frames]
    if any("/optim" in f and "optimizer" in f for f in files):
        return "optimizer"
    if not files or any("utils/checkpoint.py" in f for f in files) and not any("autograd/__init__" in f for f in files) and before == "backward":
        return "backward"
    if any("autograd/graph.py" in f or "autograd/__init__" in f or "_tensor.py" in f and n["name"] == "backward" for f, n in zip(files, frames)):
        return "backward"
    return "generate" if before == "generate" else "forward"


def measured(snapshot):
    live, phase = {}, "forward"
    for entry in snapshot["device_traces"][0]:
        if entry["action"] == "alloc":
            frames = entry.get("frames", [])
            phase = phase_of(frames, phase)
            event = Event((phase, "+", entry["addr"], -(-entry["size"] // ROUND) * ROUND, name_of(frames)))
            live[entry["addr"]] = event
            yield event
        elif entry["action"] == "free_completed" and entry["addr"] in live:
            made = live.pop(entry["addr"])
            yield Event((phase, "-", entry["addr"], made[3], made[4]))


def last_peaks(events):
    """By phase: the highest live bytes of its last stretch, what lived then, and the stretch's events."""
    live, now, spans = {}, 0, []
    for event in events:
        phase, sign, identity, size, name = event
        if not spans or spans[-1]["phase"] != phase:
            spans.append(dict(phase=phase, peak=now, live=dict(live), events=[]))
        span = spans[-1]
        span["events"].append(event)
        if sign == "+":
            live[identity] = (size, name)
            now += size
            if now > span["peak"]:
                span["peak"], span["live"] = now, dict(live)
        elif identity in live:
            now -= live.pop(identity)[0]
    found = {}
    for span in spans:
        if span["phase"] not in found or len(span["events"]) > len(found[span["phase"]]["events"]) // 2:
            found[span["phase"]] = span
    return found


def by_size(live):
    sizes = collections.defaultdict(collections.Counter)
    for size, name in live.values():
        sizes[size]["".join("#" if part.isdigit() else part + "." for part in name.split(".")).rstrip(".") if ":" not in name else name] += 1
    return sizes


def show(phase, plan, real, least):
    mib = 2**20
    difference = plan["peak"] - real["peak"]
    print(f"== {phase}: planned {plan['peak'] / mib:.1f}, measured {real['peak'] / mib:.1f} MiB, {difference / mib:+.1f} ({difference / real['peak']:+.2%})")
    ours, theirs = by_size(plan["live"]), by_size(real["live"])
    rows = []
    for size in set(ours) | set(theirs):
        surplus = sum(ours[size].values()) - sum(theirs[size].values())
        if abs(surplus) * size >= least * mib:
            rows.append((surplus * size, size, surplus))
    for total, size, surplus in sorted(rows, key=lambda row: -abs(row[0])):
        print(f"  {total / mib:+10.2f} MiB: {surplus:+d} of {size / mib:.4f}")
        for side, groups in (("planned", ours), ("measured", theirs)):
            for name, count in groups[size].most_common(24):
                print(f"      {side:8s} {count:4d} x {name}")


def show_events(plan, real, least):
    key = lambda event: (event[1], event[3])
    big = [[e for e in side["events"] if e[3] >= least * 2**20] for side in (plan, real)]
    matcher = difflib.SequenceMatcher(None, [key(e) for e in big[0]], [key(e) for e in big[1]], autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            print(f"   … {b - a} alike, to {big[0][b - 1][4]}")
            continue
        for side, events in (("planned ", big[0][a:b]), ("measured", big[1][c:d])):
            for event in events:
                print(f"   {side} {event[1]} {event[3] / 2**20:10.3f}  {event[4]}")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program")
    arguments.add_argument("job", type=pathlib.Path)
    arguments.add_argument("snapshot", type=pathlib.Path)
    arguments.add_argument("--phase")
    arguments.add_argument("--least", type=float, default=1.0, help="MiB that a difference is named from")
    arguments.add_argument("--events", action="store_true")
    options = arguments.parse_args()
    plan = last_peaks(planned(options.program, options.job))
    with options.snapshot.open("rb") as file:
        real = last_peaks(measured(pickle.load(file)))
    for phase in ("forward", "backward", "optimizer", "generate"):
        other = "forward" if phase == "generate" else phase
        if phase not in plan or other not in real or options.phase not in (None, phase):
            continue
        show(phase, plan[phase], real[other], options.least)
        if options.events:
            show_events(plan[phase], real[other], options.least)


if __name__ == "__main__":
    main()
