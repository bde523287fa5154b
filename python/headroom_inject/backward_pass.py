# SPDX-License-Identifier: Apache-2.0
"""Training loops of a script's own: a backward pass that runs out of memory after calls that fitted.

By then the loss's own part of the graph is gone, and some gradients are complete. What is left to do follows from what the hooks of
kept_calls have noted: the gradients of the calls' outputs. From those the calls are made again by rows, for the parameters
whose gradient is not complete; each parameter's is added once per pass (torch/csrc/autograd: AccumulateGrad). It must be certain that
nothing else was still to come: every way from the loss to such a parameter leads through an output whose gradient was noted.
"""
import functools
import inspect

import torch

from headroom_inject.free_graph import drop_saved
from headroom_inject.kept_calls import kept_at
from headroom_inject.messages import say
from headroom_inject.not_kept import NotKept, by_rows_it_fails
from headroom_inject.rows_in_halves import OutOfMemory, as_text
from headroom_inject.split_call import SplitCall
from headroom_inject.split_step import Progress
from headroom_inject.this_thread import here


def _edges(tensors):
    """Of what backward() is called with: tensors or GradientEdges."""
    several = tensors if isinstance(tensors, (list, tuple)) and not hasattr(tensors, "node") else [tensors]
    return [one.node if hasattr(one, "node") else one.grad_fn for one in several]


class _Reach:
    """What a backward pass from `nodes` comes to, up to the outputs of calls that it has passed. Raises NotKept where a
    gradient that was on its way cannot be told any more. `finished`: parameters whose gradient is complete."""

    def __init__(self, nodes, calls, finished):
        self.calls = []
        self._known, self._finished = calls, finished
        seen, waiting = set(), list(nodes)
        while waiting:
            node = waiting.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            if found := kept_at(node):
                waiting += self._enter(*found)
            elif hasattr(node, "variable"):
                if id(node.variable) not in finished:
                    raise NotKept("not all of the loss's own part was through, or it has parameters of its own")
            else:
                waiting += [following for following, _ in node.next_functions]

    def _enter(self, call, number):
        """Nodes where the pass goes on: those that made the call's inputs."""
        if call not in self._known or not call.has(number):
            raise NotKept("the backward pass had not come to the model yet")
        if call in self.calls:
            return []
        self.calls.append(call)
        needing = [one for one in call.call.inputs.tensors() if one.requires_grad]
        if any(one.grad_fn is None for one in needing):
            raise NotKept("the batch itself needs gradients")
        return [one.grad_fn for one in needing]


class _Pass:
    """One call of torch.autograd.backward()."""

    def __init__(self, original, boundary, given, calls):
        self._original, self._boundary, self._given, self._calls = original, boundary, given, calls
        parameters = {id(one): one for call in calls for one in call.call.model.parameters() if one.requires_grad}
        self._progress = Progress(parameters.values())

    def run(self):
        first = None
        for call in self._calls:
            call.follow(True)
        try:
            self._original(**self._given)
        except OutOfMemory as error:
            first = error
        try:
            if first is not None:
                self._recover(first.with_traceback(None))
        finally:
            for call in self._calls:
                call.follow(False)
                if not self._given.get("retain_graph"):
                    here.calls.discard(call)

    def _recover(self, first):
        try:
            reach = self._allow()
            drop_saved(_edges(self._given["tensors"]))
            self._by_rows(reach)
            return
        except NotKept as reason:
            refusal = str(reason)
        except Exception as error:
            refusal = str(by_rows_it_fails(error))
        finally:
            self._boundary.account()
        for call in self._calls:
            self._boundary.note_failure(call.call)
        say(f"out of memory in a backward pass, which is not split: {refusal}; the next calls of its models are made by rows")
        raise first

    def _allow(self):
        for name in ("retain_graph", "create_graph", "inputs"):
            if self._given.get(name):
                raise NotKept(f"backward() was called with {name}")
        finished = {id(one) for one in self._progress.finished()}
        reach = _Reach(_edges(self._given["tensors"]), self._calls, finished)
        reach.finished = finished
        for call in reach.calls:
            if call.is_in_ddp:
                raise NotKept("DistributedDataParallel had begun to add up gradients of several processes")
            call.call.allow()
        return reach

    def _by_rows(self, reach):
        found, said = {}, []
        for kept in reach.calls:
            call = kept.call
            wanted = [one for one in call.model.parameters() if one.requires_grad and id(one) not in reach.finished]
            if not wanted:
                continue
            self._boundary.note_failure(call)
            split = SplitCall(call, self._boundary.history_of(call.model))
            split.check()
            _, grads = split.gradients(wanted, kept.gradients(), are_totals=True)
            for one, grad in zip(wanted, grads):
                if grad is not None:
                    before = found.get(id(one))
                    found[id(one)] = (one, grad if before is None else before[1].add_(grad))
            said.append(f"{type(call.model).__name__} of {call.rows} in {as_text(split.done)}")
        if found:
            parameters, grads = zip(*found.values())
            found.clear()
            self._original(parameters, grads)
        if said:
            say(f"a backward pass was split by rows after an out of memory ({', '.join(said)}); "
                "the gradients are those of the whole batch")


def install(autograd, boundary):
    """`autograd`: torch.autograd."""
    original = autograd.backward
    signature = inspect.signature(original)
    if not {"tensors", "retain_graph", "create_graph", "inputs"} <= set(signature.parameters):
        raise NotKept(f"loops are not split: torch.autograd.backward{signature} is unknown")

    @functools.wraps(original)
    def backward(*args, **kwargs):
        calls = list(here.calls)
        if not calls or here.is_aside or here.is_inside:
            return original(*args, **kwargs)
        return _Pass(original, boundary, signature.bind(*args, **kwargs).arguments, calls).run()

    autograd.backward = backward
