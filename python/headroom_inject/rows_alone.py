# SPDX-License-Identifier: Apache-2.0
"""Whether a model computes each row of a batch by itself: it is measured, before a call of it is first made by rows.

A few rows are computed together and in halves, without a graph. Where one row's output depends on another's (time first, attention
or a norm over the batch, a contrastive loss), or a call leaves something behind on the modules, the two differ.
"""
import torch

from headroom_inject.model_call import join
from headroom_inject.not_kept import NotKept
from headroom_inject.rows_in_halves import OutOfMemory
from headroom_inject.structures import PLAIN, tensors_of

_OWN = ("_parameters", "_buffers", "_modules")
_EXACT, _COARSE = 1e-4, 2e-2  # Relative differences of rounding: of 32 bits, of 16.


def _things(value):
    """What a module keeps under a name, as things that compare by identity; None if it may change without harm."""
    if isinstance(value, (torch.Tensor, *PLAIN)):
        return [value]
    if isinstance(value, (list, tuple, set, dict)):
        entries = value.values() if isinstance(value, dict) else value
        return [len(value), *(one for one in entries if isinstance(one, torch.Tensor))]
    return None


def _kept(model):
    return {f"{name}.{key}" if name else key: things
            for name, module in model.named_modules() for key, value in vars(module).items()
            if key not in _OWN and (things := _things(value)) is not None}


def _is_same(one, other):
    if isinstance(one, torch.Tensor) or isinstance(other, torch.Tensor):
        return one is other
    return one == other


def _check_kept(first, second):
    for name in first.keys() | second.keys():
        one, other = first.get(name, []), second.get(name, [])
        if len(one) != len(other) or not all(map(_is_same, one, other)):
            raise NotKept(f"each call changes {name}, which is kept beside its output")


def _is_coarse(call, tensor):
    sixteen = (torch.float16, torch.bfloat16)
    return tensor.dtype in sixteen or call.is_coarse or any(one.dtype in sixteen for one in call.model.parameters())


def _check_equal(call, together, alone):
    for one, other in zip(tensors_of(together), tensors_of(alone), strict=True):
        if one.shape != other.shape:
            raise NotKept(f"of some rows it returns {list(one.shape)} at once and {list(other.shape)} in halves")
        if not one.is_floating_point() or not one.numel():
            continue
        same = (one == other) | (one.isnan() & other.isnan())
        far = torch.where(same, 0.0, (one - other).float()).reshape(max(one.shape[0], 1) if one.dim() else 1, -1).norm(dim=1)
        size = torch.where(one.isfinite(), one, 0.0).float().reshape(far.shape[0], -1).norm(dim=1)
        size = torch.maximum(size, 1e-3 * size.max()).clamp_min(1e-30)
        worst = (far / size).max().item()
        if not worst <= (_COARSE if _is_coarse(call, one) else _EXACT):
            raise NotKept(f"its rows depend on each other: what it returns for some of them at once and in halves differs by {worst:.1e}")


def _compare(call, rows):
    middle = rows // 2
    together = join([call.part(0, rows, with_graph=False)])
    first = call.part(0, middle, with_graph=False)
    kept = _kept(call.model)
    second = call.part(middle, rows, with_graph=False)
    _check_kept(kept, _kept(call.model))
    _check_equal(call, together, join([first, second]))


def _try(call, rows):
    try:
        _compare(call, rows)
    except OutOfMemory:
        return False
    return True


def check_rows_alone(call, rows):
    """Raises NotKept if rows 0 to `rows` of the call, or fewer if they do not fit, are not what they are in halves, or if
    buffers change. They are then as before."""
    before = [(name, one, one._version, one.clone()) for name, one in call.model.named_buffers()]
    try:
        while not _try(call, max(rows, 2)):
            if rows <= 2:
                raise NotKept("two rows do not fit, even without a graph")
            rows //= 2
        for name, buffer, version, _ in before:
            if buffer._version != version:
                raise NotKept(f"the forward pass changes {name}, by rows of the whole batch")
    finally:
        with torch.no_grad():
            for _, buffer, version, value in before:
                if buffer._version != version:
                    buffer.copy_(value)
