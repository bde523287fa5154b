# SPDX-License-Identifier: Apache-2.0
"""The arguments of a model's call as rows: tensors that begin with the rows, alone or in dicts, and values that hold for all."""
import collections.abc

import torch

from headroom_inject.not_kept import NotKept
from headroom_inject.row_parts import count_rows, elements_of_row
from headroom_inject.structures import tensors_of

_NUMBERS = (int, float, bool, type(None))


def _copied(value):
    """Dicts anew, what lies in them as it is: forward passes take entries out, or put some in."""
    if isinstance(value, collections.abc.Mapping):
        made = {key: _copied(each) for key, each in value.items()}
        return made if type(value) is dict else type(value)(made)
    return value


def layout(value):
    """What lies where, to be compared by == as long as it is alive."""
    if isinstance(value, collections.abc.Mapping):
        return {key: layout(each) for key, each in value.items()}
    return [layout(one) for one in value] if isinstance(value, (list, tuple)) else id(value)


class CallInputs:
    """`args` and `kwargs` are the script's own."""

    def __init__(self, args, kwargs):
        self._given = args, kwargs
        self.args, self.kwargs = tuple(map(_copied, args)), {name: _copied(one) for name, one in kwargs.items()}
        self._versions = [one._version for one in tensors_of((self.args, self.kwargs))]
        self._layout = layout(self._given)

    def given(self):
        """As the script gave them."""
        return self._given

    def check_unchanged(self):
        """Raises NotKept if they are not what they were."""
        if [one._version for one in tensors_of((self.args, self.kwargs))] != self._versions:
            raise NotKept("what it was called with has been written to since")
        if layout(self._given) != self._layout:
            raise NotKept("its forward pass takes entries out of its arguments, or puts some in")

    def flat(self):
        """A mapping of names to values. Raises NotKept for what has tensors in a list: rows, or things of one row?"""
        found = {}

        def note(name, value):
            if isinstance(value, collections.abc.Mapping):
                for key, each in value.items():
                    note(f"{name}.{key}" if name else str(key), each)
                return
            if isinstance(value, (list, tuple)):
                if not all(isinstance(one, _NUMBERS) for one in value):
                    raise NotKept(f"{name} is a {type(value).__name__}, whose entries may be rows or not")
                value = str(value)
            if isinstance(value, torch.Tensor):
                if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.layout is not torch.strided:
                    raise NotKept(f"{name} is a {type(value).__name__} of layout {value.layout}")
            if isinstance(value, (torch.dtype, torch.device)):
                value = str(value)
            found[name] = value

        for place, value in enumerate(self.args):
            note(f"argument {place + 1}", value)
        for name, value in self.kwargs.items():
            note(name, value)
        return found

    def count(self):
        """Rows, and elements of one row. Raises NotKept if that cannot be told."""
        flat = self.flat()
        rows = count_rows(flat)
        for value in (*self.args, *self.kwargs.values()):
            if isinstance(value, (list, tuple)) and len(value) == rows:
                raise NotKept(f"a {type(value).__name__} of {rows} numbers may be one for each of the {rows} rows")
        return rows, elements_of_row(flat)

    def tensors(self):
        return [value for value in self.flat().values() if isinstance(value, torch.Tensor)]

    def with_tensors(self, replace):
        """Arguments in which replace(tensor) stands for each tensor, in the order of tensors()."""
        def change(value):
            if isinstance(value, torch.Tensor):
                return replace(value)
            if isinstance(value, collections.abc.Mapping):
                made = {key: change(each) for key, each in value.items()}
                return made if type(value) is dict else type(value)(made)
            return value

        return tuple(change(one) for one in self.args), {name: change(one) for name, one in self.kwargs.items()}
