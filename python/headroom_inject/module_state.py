# SPDX-License-Identifier: Apache-2.0
"""What a model's modules are and keep at some moment, so that it can be told later whether anything has changed: parameters and buffers,
whether they train, and every attribute that a forward pass may read.

Tensors are compared by identity and by PyTorch's count of writes in place; none is kept alive. Of modules of the script's own,
objects are looked into as well; of those of known libraries only what lies on the module itself.
"""
import collections
import functools
import random
import sys
import weakref

import torch

from headroom_inject.known_modules import unknown_modules
from headroom_inject.not_kept import NotKept

_SIMPLE = (int, float, bool, str, bytes, complex, type(None), torch.dtype, torch.device)
_OF_TORCH = frozenset(vars(torch.nn.Module()))  # Hooks, and what modules are made of.
_PARTS = ("_parameters", "_buffers", "_modules")
_DEEPEST, _MOST = 6, 20_000  # Of objects in objects; of things seen on one module.


class _Tensor:
    """One tensor, without its memory."""
    __slots__ = ("_of", "_version", "_trains")

    def __init__(self, tensor):
        self._of, self._version, self._trains = weakref.ref(tensor), tensor._version, tensor.requires_grad

    def __eq__(self, other):
        tensor = self._of()
        return (tensor is not None and isinstance(other, _Tensor) and tensor is other._of() and self._version == other._version
                and self._trains == other._trains)

    __hash__ = None


def _generator_state(value):
    """What reads and what writes the state of a random generator that a module keeps; None of anything else."""
    if isinstance(value, torch.Generator):
        return value.get_state, value.set_state
    if hasattr(value, "bit_generator"):  # numpy.random.Generator
        of = value.bit_generator
        return lambda: of.state, lambda state: setattr(of, "state", state)
    if isinstance(value, random.Random):
        return value.getstate, value.setstate
    if type(value).__module__ == "numpy.random.mtrand":
        return value.get_state, value.set_state
    return None


def _put_back(container, content):
    if isinstance(container, (dict, set)):
        container.clear()
        container.update(content)
    elif isinstance(container, list):
        container[:] = content
    else:
        container.clear()
        container.extend(content)


class _Look:
    """Takes one value apart into things that compare by ==. `undo`, if there is one, gets what puts each thing back."""

    def __init__(self, is_deep, undo):
        self._is_deep, self._undo, self._seen, self._left = is_deep, undo, set(), _MOST

    def note(self, container):
        if self._undo is not None:
            self._undo.append(functools.partial(_put_back, container, container.copy()))

    def take(self, value, depth=0):
        self._left -= 1
        if isinstance(value, torch.Tensor):
            return _Tensor(value)
        if isinstance(value, _SIMPLE):
            return value
        if id(value) in self._seen or depth > _DEEPEST or self._left < 0:
            return id(value)
        self._seen.add(id(value))
        if isinstance(value, (dict, list, set, collections.deque)):
            self.note(value)
        if isinstance(value, dict):
            return [type(value), *(self.take(one, depth + 1) for pair in value.items() for one in pair)]
        if isinstance(value, (set, frozenset)):
            return [type(value), len(value), *sorted(map(hash, value))]
        if isinstance(value, (list, tuple, collections.deque)):
            return [type(value), *(self.take(one, depth + 1) for one in value)]
        return self._object(value, depth)

    def _object(self, value, depth):
        if isinstance(value, torch.nn.Module):  # In a plain list, say: those that are registered are seen by themselves.
            return [id(value), value.training, *(self.take(one, depth) for key, one in vars(value).items()
                                                 if key not in _OF_TORCH or key in _PARTS)]
        if not self._is_deep:
            return id(value)
        generator = _generator_state(value)
        if generator is not None:
            read, write = generator
            if self._undo is not None:
                self._undo.append(functools.partial(write, read()))
            return repr(read() if not isinstance(value, torch.Generator) else read().tolist())
        inside = getattr(value, "__dict__", None)
        if not isinstance(inside, dict) or callable(value) or isinstance(value, type(sys)):
            return id(value)
        return [id(value), self.take(inside, depth + 1)]

    def module(self, module):
        """What lies on a module, by name; of those inside it only which they are."""
        found = {key: self.take(value) for key, value in vars(module).items() if key not in _OF_TORCH}
        for group in (module._parameters, module._buffers):
            for key, value in group.items():
                found[key] = None if value is None else _Tensor(value)
        for group in (vars(module), *(getattr(module, name) for name in _PARTS)):
            self.note(group)
        found["training"] = module.training
        found["modules"] = [id(one) for one in module._modules.values()]
        return found


class ModuleState:
    """Of one model, as it is now. With `keeps` all that lies on the modules is kept alive, so that it can be put back."""

    def __init__(self, model, keeps=False):
        deep = {id(one) for _, one in unknown_modules(model)}
        self._model, self._undo = weakref.ref(model), [] if keeps else None
        self._found = {name: _Look(id(one) in deep, self._undo).module(one) for name, one in model.named_modules()}

    def restore(self):
        """Puts back what was taken with `keeps`: what lies where, not what was written into tensors."""
        for undo in self._undo:
            undo()

    def difference(self):
        """The name of the first thing that is not as it was; None if all is."""
        model = self._model()
        if model is None:
            return "the model, which is gone,"
        now = ModuleState(model)._found
        for name in self._found.keys() | now.keys():
            before, after = self._found.get(name, {}), now.get(name, {})
            for key in before.keys() | after.keys():
                if key not in before or key not in after or before[key] != after[key]:
                    return f"{name}.{key}" if name else key
        return None

    def check(self, words):
        """Raises NotKept with these words, in which {} stands for the name, if anything has changed."""
        name = self.difference()
        if name is not None:
            raise NotKept(words.format(name))
