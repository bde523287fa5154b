# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's Trainer: a training step that runs out of memory is redone in parts (transformers: trainer.py,
Trainer.training_step). A step that fits runs as it did; before it, only the random state is noted."""
import contextlib
import functools
import inspect
import sys
import weakref

from headroom_inject import refusals
from headroom_inject.known_modules import check_all_known
from headroom_inject.loss_weight import LossWeight
from headroom_inject.messages import say
from headroom_inject.not_kept import NotKept
from headroom_inject.random_rows import RandomRows
from headroom_inject.random_state import RandomState
from headroom_inject.row_parts import count_rows, cut, elements_of_row
from headroom_inject.rows_in_halves import as_text
from headroom_inject.split_size import SplitSize
from headroom_inject.split_step import SplitStep
from headroom_inject.this_thread import marked

# The signatures that are known: up to 4.45, and since.
_STEPS = (["self", "model", "inputs"], ["self", "model", "inputs", "num_items_in_batch"])


_sizes = weakref.WeakKeyDictionary()  # Trainer → its SplitSize.


class _Buffers:
    """Whether a forward pass changes what the model keeps from step to step."""

    def __init__(self, model):
        self._before = [(name, one, one._version) for name, one in model.named_buffers()]

    def check(self):
        """Raises NotKept with the buffer that has changed."""
        for name, buffer, version in self._before:
            if buffer._version != version:
                raise NotKept(f"the forward pass changes {name}, by rows of the whole batch")


class _Step:
    """One call of a Trainer's training_step(). `original`: the Trainer's own; `more`: its arguments after the batch."""

    def __init__(self, original, trainer, model, inputs, more):
        self._original, self._trainer, self._model, self._inputs, self._more = original, trainer, model, inputs, more
        self._bare = trainer.accelerator.unwrap_model(model, keep_fp32_wrapper=True)
        self._random, self._buffers = RandomState(trainer.args.device), _Buffers(self._bare)
        self._size = _sizes.setdefault(trainer, SplitSize())
        self._rows, self._weight = None, None

    def run(self):
        parts = self._plan()
        step = SplitStep(self._bare.parameters(), self._compute, self._refusal, self._note_failure)
        try:
            loss = step.run(parts)
        except NotKept:
            if step.computed:
                raise
            self._random.restore()  # Nothing was added to a gradient: the whole is tried.
            loss = step.run([(0, self._rows)])
        if step.ran_out:
            say(f"the batch of {self._rows} was split in {as_text(step.computed)} rows after an out of memory; "
                "the gradients are those of the whole batch")
        self._size.passed()
        return loss

    def _plan(self):
        """Parts as the last steps ended with; the whole if this batch cannot be cut, or needs not be."""
        with contextlib.suppress(NotKept):
            self._rows = count_rows(self._inputs)
            size = self._size.rows_of_part(self._rows, elements_of_row(self._inputs))
            if size < self._rows:
                self._allow()
                return [(start, min(start + size, self._rows)) for start in range(0, self._rows, size)]
        return [(0, self._rows)]

    def _refusal(self):
        try:
            self._allow()
            self._buffers.check()
        except NotKept as reason:
            return str(reason)
        return "it has one row" if self._rows == 1 else None

    def _allow(self):
        """Raises NotKept if this step must not be computed in parts."""
        self._rows = count_rows(self._inputs)
        refusals.check_trainer(self._trainer, _trainer_class(), self._bare)
        self._weight = LossWeight(refusals.innermost(self._bare), self._inputs)
        check_all_known(self._bare)

    def _note_failure(self, rows):
        self._size.failed(rows, elements_of_row(self._inputs))

    def _compute(self, start, stop):
        if stop is None or stop - start == self._rows:
            return self._original(self._trainer, self._model, self._inputs, *self._more)
        self._random.restore()
        with RandomRows(self._rows, start, stop), self._weight.recorded(), self._weighed(start, stop) as weight:
            loss = self._original(self._trainer, self._model, cut(self._inputs, start, stop), *self._more)
        return loss * weight[0] if weight[0] else loss.new_zeros(())

    @contextlib.contextmanager
    def _weighed(self, start, stop):
        """While it lasts, accelerator.backward() takes the loss by its weight, which is put into the list that this yields."""
        accelerator, found = self._trainer.accelerator, []
        backward = accelerator.backward
        had = "backward" in vars(accelerator)
        divisors = {1, self._trainer.args.gradient_accumulation_steps,
                    getattr(self._trainer, "current_gradient_accumulation_steps", 1)}

        def weighed_backward(loss, **more):
            self._buffers.check()
            self._random.check_numpy()
            found.append(self._weight.weight(start, stop, loss, divisors))
            if found[0] and loss.requires_grad:  # Without, all gradients are there already.
                backward(loss * found[0] if found[0] != 1 else loss, **more)

        accelerator.backward = weighed_backward
        try:
            yield found
        finally:
            if had:
                accelerator.backward = backward
            else:
                del accelerator.backward


def _trainer_class():
    return sys.modules["transformers.trainer"].Trainer


def install(module):
    """`module`: transformers.trainer. Raises NotKept if its Trainer is not one that is known here."""
    original = module.Trainer.training_step
    signature = inspect.signature(original)
    found = list(signature.parameters)
    if found not in _STEPS:
        raise NotKept(f"steps are not split: expected Trainer.training_step({', '.join(_STEPS[1])}), found {', '.join(found)}")
    if not {"accelerator", "backward"} <= set(inspect.unwrap(original).__code__.co_names):
        raise NotKept("steps are not split: expected Trainer.training_step to call accelerator.backward")

    @functools.wraps(original)
    def training_step(self, model, inputs, *args, **kwargs):
        if self.args.device.type != "cuda":
            return original(self, model, inputs, *args, **kwargs)
        more = signature.bind(self, model, inputs, *args, **kwargs).args[3:]
        with marked("is_aside"):
            return _Step(original, self, model, inputs, more).run()

    module.Trainer.training_step = training_step
