# SPDX-License-Identifier: Apache-2.0
"""A call of a model in training, as it can be made again for some of its rows: its arguments, where the random generators stood,
and whether autocast was on."""
import contextlib

import torch

from headroom_inject import refusals
from headroom_inject.call_inputs import CallInputs, layout
from headroom_inject.forward_watch import ForwardWatch
from headroom_inject.graph_leaves import check_leaves
from headroom_inject.known_modules import is_all_known
from headroom_inject.loss_weight import LossWeight
from headroom_inject.module_state import ModuleState
from headroom_inject.not_kept import NotKept
from headroom_inject.output_sample import check_sample, sample
from headroom_inject.random_rows import DrawKinds, RandomRows
from headroom_inject.random_state import RandomState
from headroom_inject.structures import tensors_of, transform
from headroom_inject.this_thread import marked

_EXACT, _COARSE = 1e-4, 2e-2  # Of 32 bits, of 16.


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
    """`forward(model, *args, **kwargs)` is the call itself; `draws`: what is known of the model's random numbers."""

    def __init__(self, model, forward, args, kwargs, device):
        self.draws = DrawKinds()
        self.model, self.device, self.inputs = model, device, CallInputs(args, kwargs)
        self.rows, self.elements, self.is_coarse = None, None, False  # The last: its forward pass has autocast of its own.
        self._forward, self._random, self._weight, self._no_weight = forward, RandomState(device), None, None
        self._autocast = (torch.is_autocast_enabled(device.type), torch.get_autocast_dtype(device.type),
                          torch.is_autocast_cache_enabled())
        self._state, self._samples, self._may_read = None, None, None
        self._buffers = [(one, one._version) for one in model.buffers()]

    def whole(self):
        """Makes the call as the script does."""
        args, kwargs = self.inputs.given()
        return self._forward(self.model, *args, **kwargs)

    def note_output(self, output):
        """After the call: how the model was left, and a sample of what was returned. May run out of memory."""
        self._state = ModuleState(self.model)
        self._samples = sample(tensors_of(output))

    def check_unchanged(self):
        """Before the call is made again after note_output(): raises NotKept if it would be another one."""
        self.inputs.check_unchanged()
        if self._state is None or self._samples is None:
            raise NotKept("there was no memory to note what it returned")
        self._state.check("{} has changed since the call")

    def restore_random(self):
        """The random generators then stand where they stood before the call."""
        self._random.restore()

    def allow(self):
        """Raises NotKept if this call must not be made by rows, as far as objects tell."""
        self.rows, self.elements = self.inputs.count()
        self.inputs.check_unchanged()
        refusals.check_call(self.model)
        self._may_read = is_all_known(self.model)
        if self.rows < 2:
            raise NotKept("it has one row")
        try:
            self._weight = LossWeight(refusals.innermost(self.model), self.inputs.flat())
        except NotKept as reason:
            self._no_weight = str(reason)

    def may_be_repeated(self):
        """After whole(): whether a second one, with the same random numbers, is as good as the first: of modules that are known, and no
        buffer has changed."""
        try:
            self.allow()
        except NotKept:
            return False
        now = [(one, one._version) for one in self.model.buffers()]
        is_as_before = len(now) == len(self._buffers) and all(
            one is other and version == before for (one, version), (other, before) in zip(now, self._buffers))
        return self._may_read and is_as_before

    def needing(self):
        """The inputs that need gradients."""
        return [one for one in self.inputs.tensors() if one.requires_grad]

    def part(self, start, stop, with_graph=True, watch=None):
        """Makes the call for rows start to stop, with the random numbers that the whole call draws. `watch`: a ForwardWatch, where
        the asker wants to know more than that nothing was seen."""
        leaves = []

        def take(tensor):
            one = tensor[start:stop] if tensor.dim() > 0 else tensor
            if tensor.requires_grad:
                one = one.detach().requires_grad_()
                leaves.append(one)
            return one

        arguments = self.inputs.with_tensors(take)
        before, watch = layout(arguments), watch or self.watch()
        self._random.restore()
        with contextlib.ExitStack() as stack:
            if self._weight:
                stack.enter_context(self._weight.recorded())
            output = self._computed(arguments, start, stop, with_graph, watch)
            self._random.check_numpy()
            if layout(arguments) != before:
                raise NotKept("its forward pass takes entries out of its arguments, or puts some in")
            if with_graph:
                check_leaves(tensors_of(output), [*leaves, *self.model.parameters()], watch)
            return Part(stop - start, output, leaves, self._weigh(output, start, stop))

    def random_rows(self, start, stop):
        return RandomRows(self.rows, start, stop, self.draws)

    def watch(self):
        inputs = [(name, one) for name, one in self.inputs.flat().items() if isinstance(one, torch.Tensor)]
        return ForwardWatch(self._may_read, [*inputs, *self.model.named_buffers(), *self.model.named_parameters()])

    def _computed(self, arguments, start, stop, with_graph, watch):
        args, kwargs = arguments
        enabled, dtype, caches = self._autocast
        with marked("is_inside"), torch.set_grad_enabled(with_graph), self.random_rows(start, stop), watch, \
                torch.autocast(self.device.type, dtype, enabled, caches and with_graph):
            return self._forward(self.model, *args, **kwargs)

    def check_again(self, part, start):
        """Of a part of a call that is made again: raises NotKept if it does not return what it did."""
        check_sample(self._samples, self.rows, tensors_of(part.output), start, part.rows, self.bound())

    def bound(self, *tensors):
        """Relative differences of rounding, of what this model computes and of `tensors`."""
        sixteen = (torch.float16, torch.bfloat16)
        is_coarse = self._autocast[0] or self.is_coarse or torch.get_float32_matmul_precision() != "highest" or any(
            one.dtype in sixteen for one in (*tensors, *self.model.parameters()))
        return _COARSE if is_coarse else _EXACT

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
