# SPDX-License-Identifier: Apache-2.0
"""What torch.distributed waits for when a collective was asked for."""
import time

import torch
import torch.distributed as dist

POLL_S = 0.001


class Work(dist.Work):
    """PyTorch's own work around a future would return from wait() as if nothing had failed."""

    def __init__(self, answer, works):
        super().__init__()
        self._answer, self._future, self._works = answer, answer.then(unwrap), works

    def wait(self, timeout=None):
        self._works.pop(id(self), None)
        longest_s = timeout.total_seconds() if timeout else 0
        until = time.monotonic() + longest_s
        while longest_s > 0 and not self._answer.done():
            if time.monotonic() > until:
                raise RuntimeError(f"headroom: expected the result within {longest_s:g} s, found that a rank does not come")
            time.sleep(POLL_S)
        answer = self._answer.wait()
        if isinstance(answer, Failure):
            raise RuntimeError(str(answer.error)) from answer.error
        return True

    def is_completed(self):
        return self._future.done()

    def is_success(self):
        try:
            return self._future.done() and self._future.value() is not None
        except RuntimeError:
            return False

    def get_future(self):
        self._works.pop(id(self), None)
        return self._future

    def result(self):
        return self._future.value()


class Failure:
    def __init__(self, error):
        self.error = error


def unwrap(future):
    """An exception of Future.set_exception is Python's alone: DDP, which waits in C++, would take it for a result. One that a
    callback raises is everybody's."""
    value = future.value()
    if isinstance(value, Failure):
        raise value.error
    return value


def done(result, works):
    """The work of what is over already."""
    answer = torch.futures.Future()
    answer.set_result(result)
    return Work(answer, works)
