# SPDX-License-Identifier: Apache-2.0
"""What headroom says in somebody else's program: one line each, on standard error, and never a failure of its own."""
import sys

_said = set()


def say(text):
    """Says it once in this process. Standard error may be closed, or nothing at all (pythonw, daemons)."""
    if text in _said:
        return
    _said.add(text)
    try:
        print(f"headroom: {text}", file=sys.stderr, flush=True)
    except (AttributeError, OSError, ValueError):
        pass
