# SPDX-License-Identifier: Apache-2.0
"""What models are called with and what they return: tensors in dicts, tuples, lists, named tuples and dataclasses."""
import collections.abc
import dataclasses

import torch

from headroom_inject.not_kept import NotKept

PLAIN = (int, float, bool, str, bytes, type(None), torch.dtype, torch.device, torch.Size)


class Absent:
    """Stands where a value was that cannot be put together; whoever uses it is told so."""

    def __init__(self, name):
        object.__setattr__(self, "_name", name)

    def __getattr__(self, _):
        raise RuntimeError(f"headroom: {self._name} of a call that was split by rows is not put together; "
                           "--split off (HEADROOM_SPLIT=off) leaves calls whole")


def _is_cache(value):
    """transformers' keys and values of past tokens, which a training step returns and does not read."""
    return any(one.__name__ == "Cache" and one.__module__.startswith("transformers.") for one in type(value).__mro__)


def _fields(value):
    return [field.name for field in dataclasses.fields(value)]


def transform(values, leaf, name="output"):
    """One structure out of several that are alike: leaf(tensors, name) says what stands where they have tensors. Raises NotKept
    where they differ, or hold what nobody knows how to put together."""
    first = values[0]
    if any(type(one) is not type(first) for one in values):
        raise NotKept(f"{name} is not of one type in all parts")
    if isinstance(first, torch.Tensor):
        return leaf(values, name)
    if isinstance(first, PLAIN):
        if any(one != first for one in values):
            raise NotKept(f"{name} is {first} in one part and something else in another")
        return first
    if isinstance(first, collections.abc.Mapping):
        if any(list(one) != list(first) for one in values):
            raise NotKept(f"{name} has not the same entries in all parts")
        made = {key: transform([one[key] for one in values], leaf, f"{name}.{key}") for key in first}
        if type(first) is dict:
            return made
        return type(first)(**made) if dataclasses.is_dataclass(first) else type(first)(made)
    if isinstance(first, (tuple, list)):
        if any(len(one) != len(first) for one in values):
            raise NotKept(f"{name} has not the same length in all parts")
        made = [transform(list(each), leaf, f"{name}[{place}]") for place, each in enumerate(zip(*values))]
        return type(first)(*made) if hasattr(first, "_fields") else type(first)(made)
    if dataclasses.is_dataclass(first):
        return dataclasses.replace(first, **{field: transform([getattr(one, field) for one in values], leaf, f"{name}.{field}")
                                             for field in _fields(first)})
    if isinstance(first, Absent) or _is_cache(first):
        return Absent(name)
    raise NotKept(f"{name} is {type(first).__name__}, which nobody knows how to put together from parts")


def tensors_of(value):
    """All tensors of a structure, in the order of transform(). What is unknown is passed over."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, collections.abc.Mapping):
        return [one for each in value.values() for one in tensors_of(each)]
    if isinstance(value, (tuple, list)):
        return [one for each in value for one in tensors_of(each)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [one for field in _fields(value) for one in tensors_of(getattr(value, field, None))]
    return []
