# SPDX-License-Identifier: Apache-2.0
"""A call of a model in training, as it can be made again for some of its rows: its arguments, where the random generators stood,
and whether autocast was on."""
import contextlib

import torch

from headroom_inject import refusals
from headroom_inject.call_inputs import CallInputs
from headroom_inject.loss_weight import LossWeight
from headroom_inject.not_kept import NotKept
from headroom_inject.random_rows import RandomRows
from headroom_inject.random_state import RandomState
from headroom_inject.structures import tensors_of, transform
from headroom_inject.this_thread import marked


class Part:
    """What a call returned for `rows` rows; `leaves` stand for the inputs that need gradients, `weight` is the loss's."""

    def __init__(self, rows, output, leaves, weight):
        self.rows, self.output, self.leaves, self.weight, self.needs = rows, output, leaves, weight, None

    def detached(self):
        """Without the graph. `needs`: which of its tensors had one."""
        self.needs = [one.requires_grad for one in tensors_of(self.output)]
        self.output, self.leaves = transform([self.output], lambda tensors, _: tensors[0].detach()), None
        return self


class ModelCall:
    """`forward(model, *args, **kwargs)` is the call itself."""

    def __init__(self, model, forward, args, kwargs, device):
        self.model, self.device, self.inputs = model, device, CallInputs(args, kwargs)
        self.rows, self.elements = None, None
        self._forward, self._random, self._weight, self._no_weight = forward, RandomState(device), None, None
        self._autocast = (torch.is_autocast_enabled(device.type), torch.get_autocast_dtype(device.type),
                          torch.is_autocast_cache_enabled())

    def whole(self):
        """Makes the call as the script does."""
        return self._forward(self.model, *self.inputs.args, **self.inputs.kwargs)

    def restore_random(self):
        """The random generators then stand where they stood before the call."""
        self._random.restore()

    def allow(self):
        """Raises NotKept if this call must not be made by rows, as far as objects tell."""
        self.rows, self.elements = self.inputs.count()
        refusals.check_call(self.model)
        if self.rows < 2:
            raise NotKept("it has one row")
        try:
            self._weight = LossWeight(refusals.innermost(self.model), self.inputs.flat())
        except NotKept as reason:
            self._no_weight = str(reason)

    @property
    def is_coarse(self):
        """Whether it computes in 16 bits without saying so."""
        return self._autocast[0]

    def needing(self):
        """The inputs that need gradients."""
        return [one for one in self.inputs.tensors() if one.requires_grad]

    def part(self, start, stop, with_graph=True):
        """Makes the call for rows start to stop, with the random numbers that the whole call draws."""
        leaves = []

        def take(tensor):
            one = tensor[start:stop] if tensor.dim() > 0 else tensor
            if tensor.requires_grad:
                one = one.detach().requires_grad_()
                leaves.append(one)
            return one

        args, kwargs = self.inputs.with_tensors(take)
        self._random.restore()
        enabled, dtype, caches = self._autocast
        with contextlib.ExitStack() as stack:
            stack.enter_context(marked("is_inside"))
            stack.enter_context(torch.set_grad_enabled(with_graph))
            stack.enter_context(torch.autocast(self.device.type, dtype, enabled, caches))
            stack.enter_context(RandomRows(self.rows, start, stop))
            if self._weight:
                stack.enter_context(self._weight.recorded())
            output = self._forward(self.model, *args, **kwargs)
            return Part(stop - start, output, leaves, self._weigh(output, start, stop))

    def _weigh(self, output, start, stop):
        values = [one for one in tensors_of(output) if one.dim() == 0]
        if not values:
            return None
        if self._weight is None:
            raise NotKept(f"it returns a value of all rows together, and {self._no_weight}")
        if len(values) > 1:
            raise NotKept(f"it returns {len(values)} values of all rows together")
        return self._weight.weight(start, stop, values[0], {1})


def _join_rows(tensors, parts, name):
    times = tensors[0].shape[0] // parts[0].rows
    if times == 0 or any(tensor.shape[0] != times * part.rows for tensor, part in zip(tensors, parts)):
        raise NotKept(f"{name} has not its rows first: {list(tensors[0].shape)} for {parts[0].rows} rows")
    return tensors[0] if len(tensors) == 1 else torch.cat(tensors)


def join(parts):
    """The whole's output from that of all parts, in order."""
    def put_together(tensors, name):
        if any(tensor.dim() != tensors[0].dim() for tensor in tensors):
            raise NotKept(f"{name} has not as many dimensions in all parts")
        if tensors[0].dim() > 0:
            return _join_rows(tensors, parts, name)
        return sum(tensor * part.weight if part.weight else torch.zeros_like(tensor)
                   for tensor, part in zip(tensors, parts))

    return transform([part.output for part in parts], put_together)
