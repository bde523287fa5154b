# SPDX-License-Identifier: Apache-2.0
"""A model's call made by rows: one node of the graph, which makes the call again for some rows at a time when its gradients are
asked for. The gradients of all rows are handed on together, so that whatever waits for a parameter's gradient sees it once."""
import atexit
import functools
import time

import torch

from headroom_inject.messages import say
from headroom_inject.model_call import join
from headroom_inject.not_kept import NotKept, OneRowTooMany
from headroom_inject.random_rows import DrawKinds
from headroom_inject.random_state import RandomState
from headroom_inject.rows_alone import check_rows_alone
from headroom_inject.rows_in_halves import make_parts, work_in_halves
from headroom_inject.split_size import SplitSize
from headroom_inject.split_step import OutOfMemory
from headroom_inject.structures import tensors_of, transform


@functools.cache
def let_engine_finish_at_exit():
    """What a node written in Python leaves, an error above all, is still being let go of by the autograd engine's own thread when
    the script's thread goes on. A process that ends meanwhile aborts ("terminate called without an active exception"): the engine's
    thread wants Python's lock, which is not to be had any more. Nothing tells when it is done; it needs microseconds, and a turn."""
    atexit.register(time.sleep, 0.2)


class CallHistory:
    """What is known of a model from earlier calls."""

    def __init__(self):
        self.size, self.has_rows_alone, self.refusal, self.draws = SplitSize(), False, None, DrawKinds()


class _Rows(torch.autograd.Function):
    """`tensors`: those that may need gradients, inputs and then parameters. They are saved so that PyTorch itself notices a
    change in place before the backward pass, and a second one over a graph that is gone."""

    @staticmethod
    def forward(ctx, split, outputs, *tensors):
        ctx.split = split
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        return tuple(outputs)

    @staticmethod
    def backward(ctx, *grads):
        let_engine_finish_at_exit()
        tensors = ctx.saved_tensors
        if torch.is_grad_enabled():
            reason = "a call that was split by rows has no second derivatives"
            ctx.split.history.refusal = reason  # The next calls are whole.
            say(f"out of memory in the backward pass of {type(ctx.split.call.model).__name__}: {reason}")
            raise OutOfMemory(f"CUDA out of memory. headroom: {reason}; its next calls are whole, and --split off (HEADROOM_SPLIT=off) leaves "
                              "all of them so")
        count = len(ctx.split.call.needing())
        wanted = [one for one, needs in zip(tensors[count:], ctx.needs_input_grad[2 + count:]) if needs]
        try:
            of_inputs, of_parameters = ctx.split.gradients(wanted, ctx.split.spread(grads))
        except NotKept as reason:
            if not isinstance(reason, OneRowTooMany):
                ctx.split.history.refusal = str(reason)  # The next calls are whole.
            say(f"out of memory in the backward pass of {type(ctx.split.call.model).__name__}: {reason}")
            raise OutOfMemory(getattr(reason, "error", f"CUDA out of memory. headroom: {reason}")) from None
        found = iter(of_parameters)
        rest = [next(found) if needs else None for needs in ctx.needs_input_grad[2 + count:]]
        return (None, None, *of_inputs, *rest)


class SplitCall:
    """`call` has passed allow()."""

    def __init__(self, call, history):
        self.call, self.history = call, history
        call.draws = history.draws
        self.done, self._needs = [], None

    def _failed(self, rows):
        self.history.size.failed(rows, self.call.elements)

    def _parts(self):
        return make_parts(self.call.rows, self.history.size.rows_of_part(self.call.rows, self.call.elements))

    def check(self):
        """Raises NotKept if the model is not one that computes its rows by themselves."""
        if self.history.refusal is None and not self.history.has_rows_alone:
            before = RandomState(self.call.device)
            try:
                check_rows_alone(self.call, min(self._parts()[0][1], self.call.rows))
                self.history.has_rows_alone = True
            except NotKept as reason:
                self.history.refusal = str(reason)
            finally:
                before.restore()
        if self.history.refusal is not None:
            raise NotKept(self.history.refusal)

    def output(self):
        """What the call returns; the random generators then stand where the whole call leaves them."""
        parts = []
        self.done = work_in_halves(self._parts(), lambda start, stop: parts.append(self.call.part(start, stop).detached()),
                                   self._failed)
        self._needs = [any(each) for each in zip(*(part.needs for part in parts))]
        joined = join(parts)
        del parts
        self.call.note_output(joined)
        outputs = [one for one, needs in zip(tensors_of(joined), self._needs) if needs]
        if not outputs:
            return joined
        parameters = [one for one in self.call.model.parameters() if one.requires_grad]
        in_graph = iter(_Rows.apply(self, outputs, *self.call.needing(), *parameters))
        needs = iter(self._needs)
        return transform([joined], lambda tensors, _: next(in_graph) if next(needs) else tensors[0])

    def spread(self, grads):
        """Gradients of the node's outputs as those of all tensors that the call returns."""
        found = iter(grads)
        return [next(found) if needs else None for needs in self._needs]

    def gradients(self, parameters, grads, are_totals=False):
        """Of the inputs that need some, and of `parameters`; None where there is none. `grads`: of each tensor of the output, or
        None; totals have in them what comes from other tensors of the output that were made of this one. Raises NotKept if one
        row does not fit, or if the call would be another one by now."""
        self.call.check_unchanged()
        sums, needing = [None] * len(parameters), self.call.needing()
        of_inputs = [torch.zeros_like(one) for one in needing]

        def add(start, stop):
            part = self.call.part(start, stop)
            self.call.check_again(part, start)
            found = self._part_gradients(part, start, stop, [*part.leaves, *parameters], grads, are_totals)
            if any(one is not None and one.layout is not torch.strided for one in found):
                raise NotKept("a gradient is sparse")
            del part
            for whole, one in zip(of_inputs, found):  # From here on nothing is allocated.
                if one is not None:
                    (whole[start:stop] if whole.dim() else whole).add_(one)
            for place, one in enumerate(found[len(of_inputs):]):
                if one is not None:
                    sums[place] = one if sums[place] is None else sums[place].add_(one)

        before = RandomState(self.call.device)
        try:
            self.done = work_in_halves(self._parts(), add, self._failed)
        finally:
            before.restore()
        return of_inputs, sums

    def _part_gradients(self, part, start, stop, leaves, grads, are_totals):
        outputs, seeds = [], []
        for tensor, grad in zip(tensors_of(part.output), grads, strict=True):
            if grad is None or not tensor.requires_grad:
                continue
            if tensor.dim() > 0:
                times = grad.shape[0] // self.call.rows
                seed = grad[start * times:stop * times]
            elif part.weight:
                seed = grad * part.weight
            else:
                continue  # Nothing in these rows counts; the mean over nothing is no number.
            if are_totals:
                tensor.register_hook(lambda _, total=seed: total)
            outputs.append(tensor)
            seeds.append(seed)
        if not outputs:
            return [None] * len(leaves)
        with self.call.random_rows(start, stop):  # Checkpointing computes in the backward pass.
            return torch.autograd.grad(outputs, leaves, seeds, allow_unused=True)
