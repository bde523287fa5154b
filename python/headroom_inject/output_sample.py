# SPDX-License-Identifier: Apache-2.0
"""A few values of each row of what a call returned, by which it is seen whether the call, made again in the backward pass, still is the
one that it was: whatever may have changed meanwhile (a mode, a global value, a generator of the script's own)."""
import torch

from headroom_inject.not_kept import NotKept

_VALUES = 4  # Of each dimension but the first; 64 values of a row of three.


def _thin(tensor):
    for axis in range(1, tensor.dim()):
        size, most = tensor.shape[axis], _VALUES if axis < 4 else 1
        if size > most:
            step = size // most
            tensor = tensor.narrow(axis, step // 2, size - step // 2)[(slice(None),) * axis + (slice(None, None, step),)]
    return tensor


def _norm(tensor):
    return torch.where(tensor.isfinite(), tensor, 0.0).float().norm()


def sample(tensors):
    """Copies, a few hundred bytes for each row."""
    with torch.no_grad():
        return [_thin(one.detach()).clone() if one.dim() > 0 and one.is_floating_point() else None for one in tensors]


def check_sample(samples, rows, tensors, start, part_rows, bound):
    """Raises NotKept if `tensors`, of `part_rows` rows from `start` on, are not those that `samples`, of all `rows`, were taken from.
    `bound`: of the difference's norm over the sample's."""
    with torch.no_grad():
        for whole, tensor in zip(samples, tensors, strict=True):
            if whole is None or tensor.dim() == 0:
                continue
            times = whole.shape[0] // rows
            expected = whole[start * times:(start + part_rows) * times]
            found = _thin(tensor.detach())
            if expected.shape != found.shape:
                raise NotKept(f"made again, it returns {list(found.shape)} where it returned {list(expected.shape)}")
            same = (expected == found) | (expected.isnan() & found.isnan())
            far = torch.where(same, 0.0, (expected - found).float()).norm()
            size = torch.maximum(_norm(expected), 1e-3 * _norm(whole)).clamp_min(1e-30)
            if not far <= bound * size:
                raise NotKept(f"made again, it returns something else, {float(far / size):.1e} away: what it depends on has changed "
                              "since, outside the model and its arguments")
