# SPDX-License-Identifier: Apache-2.0
"""A forward and backward pass over some rows of a batch; what ran out of memory is redone in halves.

Nothing that was computed is undone. A backward pass that fails has added some parameters' gradients whole and others' not at
all, because each parameter's is added once per pass, when it is complete (torch/csrc/autograd: AccumulateGrad). So the rows are
redone for the others alone. Gradients of earlier passes stay where they are, and no copy of any is made.
"""
import contextlib
import gc

import torch

from headroom_inject.messages import say
from headroom_inject.not_kept import NotKept, by_rows_it_fails

OutOfMemory = torch.cuda.OutOfMemoryError  # The same class as torch.OutOfMemoryError, which is newer.


class Progress:
    """Which of the parameters have got their gradient since this was made."""

    def __init__(self, parameters):
        self._before = [(one, one.grad, one.grad._version if one.grad is not None else 0) for one in parameters]

    def finished(self):
        return [one for one, grad, version in self._before
                if one.grad is not None and (one.grad is not grad or one.grad._version != version)]


@contextlib.contextmanager
def _frozen(parameters):
    """Parameters that get no gradient."""
    try:
        for one in parameters:
            one.requires_grad_(False)
        yield
    finally:
        for one in parameters:
            one.requires_grad_(True)


class SplitStep:
    """One batch of `rows` rows, or None where it cannot be cut. What the functions do:

    prepare(start, stop)   comes before compute(), with all parameters as the program has them; raises NotKept as compute() does
    compute(start, stop)   both passes over those rows; returns their part of the loss. It begins with the same random state
                           each time, and raises NotKept before its backward pass if it finds that the gradients would not
                           be the whole's
    refusal()              after the first out of memory, before anything is redone: why it must not be, or None
    failed(rows)           hears of each part that did not fit

    Nothing but an out of memory, or what a part of the first rows raises by itself, comes to the program.
    """

    def __init__(self, parameters, *, prepare, compute, refusal, failed):
        self._parameters = [one for one in parameters if one.requires_grad]
        self._prepare, self._compute, self._refusal, self._failed = prepare, compute, refusal, failed
        self._first_error = None
        self.computed = []  # The rows of each part.

    @property
    def ran_out(self):
        return self._first_error is not None

    def run(self, parts):
        """`parts`: pairs of start and stop. Returns the loss. Raises the first out of memory if that is refused, or if one row
        does not fit, with a line that says so; NotKept if there was none and a part finds a reason."""
        waiting = [(start, stop, []) for start, stop in reversed(parts)]
        loss = None
        while waiting:
            start, stop, done = waiting.pop()
            others = {id(one) for one in done}
            progress = Progress([one for one in self._parameters if id(one) not in others])
            found = self._try(start, stop, done)
            if found is None:
                self._failed(stop - start)
                done = done + progress.finished()
                del progress
                gc.collect()  # Graphs may be cycles.
                middle = (start + stop + 1) // 2
                waiting += [(middle, stop, done), (start, middle, done)]
            else:
                self.computed.append(stop - start if stop is not None else None)
                loss = found if loss is None else loss + found
        return loss

    def _try(self, start, stop, done):
        """None after an out of memory. Then nothing of the failed passes is alive: the error's frames held it."""
        try:
            self._prepare(start, stop)
            with _frozen(done):
                return self._compute(start, stop)
        except OutOfMemory as error:
            if not self.ran_out:
                if reason := self._refusal():
                    say(f"out of memory in a training step, which is not split: {reason}")
                    raise
                self._first_error = error.with_traceback(None)
                self._first_error.__context__ = None
            if stop - start == 1:
                say("out of memory in a training step: one row alone does not fit")
                raise self._first_error from None
            return None
        except NotKept as reason:
            if not self.ran_out and not self.computed:
                raise
            self.give_up(str(reason))
        except Exception as error:
            if not self.ran_out and not self.computed:
                raise
            self.give_up(by_rows_it_fails(error))

    def give_up(self, reason):
        """Raises the first error. Without one, parts were expected to be needed; what was computed cannot be taken back."""
        say(f"out of memory in a training step, which is not split: {reason}")
        raise self._first_error or OutOfMemory(f"CUDA out of memory. headroom: a step computed in parts cannot go on: {reason}") from None
