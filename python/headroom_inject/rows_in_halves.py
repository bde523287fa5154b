# SPDX-License-Identifier: Apache-2.0
"""Work over rows that runs out of memory is done again in halves. The work of a part must leave nothing behind if it fails."""
import gc

from headroom_inject.not_kept import OneRowTooMany
from headroom_inject.split_step import OutOfMemory


def make_parts(rows, size):
    return [(start, min(start + size, rows)) for start in range(0, rows, size)]


def _error_of(work, start, stop):
    """The text of its out of memory, or None. Leaves the except block before anything else is tried: the error's frames hold the
    failed work's memory."""
    try:
        work(start, stop)
    except OutOfMemory as error:
        return str(error)
    return None


def work_in_halves(parts, work, failed):
    """Calls work(start, stop) for each of `parts`, or for halves of it; failed(rows) hears of what did not fit. Returns the rows of
    each part that was done; raises OneRowTooMany."""
    waiting, done = list(reversed(parts)), []
    while waiting:
        start, stop = waiting.pop()
        error = _error_of(work, start, stop)
        if error is None:
            done.append(stop - start)
            continue
        if stop - start <= 1:
            raise OneRowTooMany(error)
        failed(stop - start)
        gc.collect()  # Graphs may be cycles.
        middle = (start + stop + 1) // 2
        waiting += [(middle, stop), (start, middle)]
    return done


def as_text(rows):
    """2 x 4, or 4 + 2 + 2 where they differ."""
    return f"{len(rows)} x {rows[0]}" if len(set(rows)) == 1 else " + ".join(str(one) for one in rows)
