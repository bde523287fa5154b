# SPDX-License-Identifier: Apache-2.0
"""Training loops of a script's own: a model's call that runs out of memory is made again by rows.

The boundary is the outermost call of a model in training: a module in train mode that has parameters to train, with gradients on. A
call that fits runs as it did, in its own graph. Before it, the random state is noted, and after it hooks are put on the nodes that
made its output; they live as long as the graph. A call that runs out of memory, and those of the same model after it, are one
node by rows (split_call), as long as the model's parts are smaller than its batch.
"""
import contextlib
import functools
import weakref

import torch

from headroom_inject.kept_calls import MOST, KeptCall
from headroom_inject.known_modules import is_all_known
from headroom_inject.messages import say
from headroom_inject.model_call import ModelCall
from headroom_inject.not_kept import NotKept, OneRowTooMany, by_rows_it_fails
from headroom_inject.reserve import Reserve
from headroom_inject.rows_in_halves import OutOfMemory, as_text
from headroom_inject.split_call import CallHistory, SplitCall
from headroom_inject.structures import tensors_of
from headroom_inject.this_thread import here, marked


_histories = weakref.WeakKeyDictionary()  # Model → CallHistory.


def _gpu_of(model):
    """Where the model trains; None if it has nothing to train."""
    for parameter in model.parameters():
        if parameter.requires_grad:
            return parameter.device
    return None


def _is_plain():
    """Whether what is computed now is ordinary: nothing is traced, transformed or captured, it is no backward pass, which
    checkpointing calls modules in, and what its graph saves is PyTorch's own affair: a checkpoint around the call makes it again, and
    expects it to save the same tensors."""
    return not (torch._C._current_graph_task_id() != -1 or torch.jit.is_tracing() or torch._C._are_functorch_transforms_active()
                or torch.cuda.is_current_stream_capturing() or torch._C._autograd._top_saved_tensors_default_hooks(False) is not None)


def _is_ddp(model):
    return isinstance(model, torch.nn.parallel.DistributedDataParallel)


class Boundary:
    """`original`: torch.nn.Module.__call__; `library`: headroom_inject.library.Library."""

    def __init__(self, original, library):
        self.original, self._library = original, library
        self._seen = {}  # GPU → errors that are accounted for.
        self._reserves = {}  # GPU → Reserve.

    def call(self, model, args, kwargs):
        """The outermost call of a model in train mode, with gradients on."""
        if _is_ddp(model):
            return self._call_ddp(model, args, kwargs)
        device = _gpu_of(model)
        if device is None or not _is_plain():
            return self.original(model, *args, **kwargs)
        with marked("is_inside"):
            if device.type != "cuda":
                return self.original(model, *args, **kwargs)
            prepared = self._prepare(model, args, kwargs, device)
            if prepared is None:
                return self.original(model, *args, **kwargs)
            call, reserve = prepared
            try:
                return self._follow(call, reserve)
            finally:
                reserve.open()

    def _prepare(self, model, args, kwargs, device):
        """None if anything is not as expected: the call is then the script's alone."""
        try:
            call = ModelCall(model, self.original, args, kwargs, device)
            self._note_errors(call)
            reserve = self._reserves.setdefault(device, Reserve(self._library, device.index or 0))
            reserve.close()
            return call, reserve
        except Exception as error:
            say(f"calls of {type(model).__name__} run as they are: {type(error).__name__}: {error}")
            return None

    def _call_ddp(self, model, args, kwargs):
        """Its own call exchanges buffers; the model's is the one inside."""
        with marked("is_in_ddp"):
            return self.original(model, *args, **kwargs)

    def _follow(self, call, reserve):
        history = self.history_of(call.model)
        split = self._plan(call, history)
        if split is None:
            first = None
            try:
                output = call.whole()
            except OutOfMemory as error:
                first = error
            else:
                history.size.passed()
                if reserve.is_new and not reserve.hold_for(tensors_of(output)) and call.may_be_repeated():
                    call.restore_random()
                    del output
                else:
                    return self._keep(call, output, reserve)
        return self._by_rows(call, history, split, first if split is None else None, reserve)

    def _by_rows(self, call, history, split, first, reserve):
        if first is not None:
            first = first.with_traceback(None)  # Its frames hold what the failed call made.
            first.__context__ = None
        try:
            if split is None:
                split = self._allow(call, history)
            output = self._output(split, reserve)
        except NotKept as reason:
            refusal = str(reason)
        except Exception as error:
            refusal = str(by_rows_it_fails(error))
        else:
            self.account()
            history.size.passed()
            say(f"calls of {type(call.model).__name__} with {call.rows} rows are split in {as_text(split.done)} after an out of memory; "
                "outputs and gradients are those of the whole batch")
            return output
        self.account()
        say(f"out of memory in a call of {type(call.model).__name__}, which is not split: {refusal}")
        if first is None:  # It was expected not to fit; as the script has it.
            call.restore_random()
            return self._keep(call, call.whole(), reserve)
        raise first

    @staticmethod
    def _output(split, reserve):
        try:
            return split.output()
        except (OneRowTooMany, OutOfMemory):  # The latter where the parts' outputs are put together.
            if not reserve.give_up():
                raise
        return split.output()

    def _allow(self, call, history):
        call.allow()
        history.size.failed(call.rows, call.elements)
        split = SplitCall(call, history)
        split.check()
        return split

    def _plan(self, call, history):
        """By rows, if the last calls did not fit otherwise; else None."""
        if not history.size.is_limited or not (history.has_rows_alone or is_all_known(call.model)):
            return None  # The check calls the model, which may leave something behind where a script can find it.
        try:
            call.allow()
            if history.size.rows_of_part(call.rows, call.elements) >= call.rows:
                return None
            split = SplitCall(call, history)
            split.check()
            return split
        except (NotKept, OutOfMemory):
            return None

    def _keep(self, call, output, reserve):
        """What is noted may come out of the reserve."""
        try:
            if len(here.calls) < MOST:
                kept = KeptCall(call, here.is_in_ddp, reserve.learn)
                if kept.watch(output):
                    here.calls.add(kept)
                    reserve.open()
                    call.note_output(output)
        except OutOfMemory:
            self.account()  # Whether the call may be made again cannot be told then; it says so itself.
        except Exception as error:
            say(f"backward passes of {type(call.model).__name__} run as they are: {type(error).__name__}: {error}")
        return output

    def _note_errors(self, call):
        """An error that came to the script itself, which goes on: in its loss, say. The next call is made by rows."""
        errors = self._library.counts(call.device.index or 0).out_of_memory
        if errors > self._seen.setdefault(call.device, errors):
            self._seen[call.device] = errors
            self.note_failure(call)

    @staticmethod
    def history_of(model):
        return _histories.setdefault(model, CallHistory())

    def note_failure(self, call):
        """The model's next calls are made by rows, if that is possible at all."""
        with contextlib.suppress(NotKept):
            self.history_of(call.model).size.failed(*call.inputs.count())

    def account(self):
        """Errors so far were seen and answered."""
        for device in self._seen:
            self._seen[device] = self._library.counts(device.index or 0).out_of_memory


def install(module_class, boundary):
    """`module_class`: torch.nn.Module."""
    original = boundary.original

    @functools.wraps(original)
    def call(self, *args, **kwargs):
        if torch.compiler.is_compiling():  # Comes first: torch.compile looks through this into the module.
            return original(self, *args, **kwargs)
        if here.is_inside or not self.training or here.is_aside or not torch.is_grad_enabled():
            return original(self, *args, **kwargs)
        return boundary.call(self, args, kwargs)

    module_class.__call__ = call
