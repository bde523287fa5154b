# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's Trainer: a training step that runs out of memory is redone in parts (transformers: trainer.py,
Trainer.training_step). A step that fits runs as it did; before it, only the random state is noted."""
import contextlib
import functools
import inspect
import weakref

import torch

from headroom_inject import refusals
from headroom_inject.known_modules import check_all_known
from headroom_inject.loss_weight import LossWeight
from headroom_inject.messages import say
from headroom_inject.model_call import ModelCall
from headroom_inject.not_kept import NotKept, by_rows_it_fails
from headroom_inject.random_rows import RandomRows
from headroom_inject.random_state import RandomState
from headroom_inject.row_parts import count_rows, cut, elements_of_row
from headroom_inject.rows_alone import check_rows_alone
from headroom_inject.rows_in_halves import as_text
from headroom_inject.split_size import SplitSize
from headroom_inject.split_step import OutOfMemory, SplitStep
from headroom_inject.this_thread import marked

# The signatures that are known: up to 4.45, and since.
_STEPS = (["self", "model", "inputs"], ["self", "model", "inputs", "num_items_in_batch"])


class _History:
    """What is known of a Trainer from earlier steps."""

    def __init__(self):
        self.size = SplitSize()
        self._model, self.draws = None, None

    def has_checked(self, model):
        """Whether note_checked() was called for it; `draws` are then what that left."""
        return self._model is not None and self._model() is model

    def note_checked(self, model, draws):
        self._model, self.draws = weakref.ref(model), draws


_histories = weakref.WeakKeyDictionary()  # Trainer → _History.


class _Buffers:
    """Whether a forward pass changes what the model keeps from step to step. Some models put the same numbers there each time."""

    def __init__(self, model):
        self._model = model
        self._before = {name: (one, one._version) for name, one in model.named_buffers()}

    def check(self):
        """Raises NotKept with the buffer that has changed."""
        now = dict(self._model.named_buffers())
        for name in self._before.keys() | now.keys():
            (before, version), after = self._before.get(name, (None, 0)), now.get(name)
            is_same = before is not None and after is not None and before._version == version and (
                after is before or (after.shape == before.shape and torch.equal(after, before)))
            if not is_same:
                raise NotKept(f"the forward pass changes {name}, by rows of the whole batch")


class _Step:
    """One call of a Trainer's training_step(). `original`: the Trainer's own; `more`: its arguments after the batch."""

    def __init__(self, original, trainer, model, inputs, more):
        self._original, self._trainer, self._model, self._inputs, self._more = original, trainer, model, inputs, more
        self._bare = trainer.accelerator.unwrap_model(model, keep_fp32_wrapper=True)
        self._random, self._buffers = RandomState(trainer.args.device), _Buffers(self._bare)
        self._history = _histories.setdefault(trainer, _History())
        self._size = self._history.size
        self._rows, self._weight = None, None
        self._has_begun = False  # A backward pass of a part: what it adds cannot be taken back.

    def run(self):
        parts = self._plan()
        step = SplitStep(self._bare.parameters(), prepare=self._check_rows, compute=self._compute, refusal=self._refusal,
                         failed=self._note_failure)
        try:
            loss = step.run(parts)
        except NotKept as reason:
            if self._has_begun:
                step.give_up(str(reason))
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
        refusals.check_trainer(self._trainer, self._bare)
        self._weight = LossWeight(refusals.innermost(self._bare), self._inputs)
        check_all_known(self._bare)

    def _note_failure(self, rows):
        self._size.failed(rows, elements_of_row(self._inputs))

    def _compute(self, start, stop):
        if stop is None or stop - start == self._rows:
            return self._original(self._trainer, self._model, self._inputs, *self._more)
        self._random.restore()
        try:
            with RandomRows(self._rows, start, stop, self._history.draws), self._weight.recorded(), self._weighed(start, stop) as weight:
                loss = self._original(self._trainer, self._model, cut(self._inputs, start, stop), *self._more)
        except (NotKept, OutOfMemory):
            raise
        except Exception as error:
            if self._has_begun:
                raise
            raise by_rows_it_fails(error) from None
        return loss * weight[0] if weight[0] else loss.new_zeros(())

    def _check_rows(self, start, stop):
        """Before a model is first computed in parts: raises NotKept if that is seen to be something else than the whole."""
        if stop is None or stop - start == self._rows or self._history.has_checked(self._bare):
            return
        with torch.no_grad():
            inputs = self._trainer._prepare_inputs(dict(self._inputs))
        call = ModelCall(self._model, torch.nn.Module.__call__, (), inputs, self._trainer.args.device)
        call.is_coarse = str(self._trainer.accelerator.mixed_precision) != "no"
        with torch.enable_grad():
            call.allow()
            try:
                check_rows_alone(call, stop - start, needs_gradients=False)
            except (NotKept, OutOfMemory):
                raise
            except Exception as error:
                raise by_rows_it_fails(error) from None
        self._history.note_checked(self._bare, call.draws)

    @contextlib.contextmanager
    def _weighed(self, start, stop):
        """While it lasts, accelerator.backward() takes the loss by its weight, which is put into the list that this yields."""
        accelerator, found = self._trainer.accelerator, []
        backward = accelerator.backward  # Its class's own, as refusals have made sure of.
        divisors = {1, self._trainer.args.gradient_accumulation_steps,
                    getattr(self._trainer, "current_gradient_accumulation_steps", 1)}

        def weighed_backward(loss, **more):
            self._buffers.check()
            self._random.check_numpy()
            found.append(self._weight.weight(start, stop, loss, divisors))
            self._has_begun = True
            if found[0] and loss.requires_grad:  # Without, all gradients are there already.
                backward(loss * found[0] if found[0] != 1 else loss, **more)

        accelerator.backward = weighed_backward
        try:
            yield found
        finally:
            del accelerator.backward


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
