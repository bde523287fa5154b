# SPDX-License-Identifier: Apache-2.0
"""What a step says: one line of JSON each, whole even where the framework writes from threads of its own."""
import json
import math
import os

PREFIX = "headroom-step: "


def say(**values):
    """Past Python's own buffers, which are lost where the process is ended by a signal; on a line of its own, also where the framework has
    not ended its last one."""
    line = ("\n" + PREFIX + json.dumps(values) + "\n").encode()
    while line:
        line = line[os.write(1, line):]


def announce(name):
    say(begin=name)


def passed(figure=None, unit=None, detail=None):
    return {"ok": True, "figure": figure, "unit": unit, "detail": detail}


def failed(detail, figure=None, unit=None, kind="wrong"):
    """`kind`: "wrong" (a result that is not right), "memory" (a byte that changed), "unstable" (another answer to the same question),
    "size" (less memory than was said), "lost" (memory that did not come back); of several devices "peer" (a copy that arrived changed), "sum"
    (of ranks, that is not right), "stuck" (nobody moves)."""
    if figure is not None and not math.isfinite(figure):
        figure = None  # JSON has no such number.
    return {"ok": False, "figure": figure, "unit": unit, "detail": detail, "kind": kind}


def skipped(reason):
    return {"ok": None, "figure": None, "unit": None, "detail": reason}
