# SPDX-License-Identifier: Apache-2.0
"""Whether a model computes each row of a batch by itself: it is measured, before a call of it is first made by rows.

A few rows are computed together and in halves, forward and backward. Where one row's output or gradient depends on another's (time first,
attention or a norm over the batch, a contrastive loss, a gradient divided by its norm), the two differ. What a call leaves
behind, on the modules or elsewhere, is looked for as well.
"""
import torch

from headroom_inject.model_call import join
from headroom_inject.module_state import ModuleState
from headroom_inject.not_kept import NotKept
from headroom_inject.rows_in_halves import OutOfMemory
from headroom_inject.structures import tensors_of

_MOST_GRADIENTS = 1 << 22  # Elements of the parameters whose gradients are compared; at least one parameter's.


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
        if not worst <= call.bound(one):
            raise NotKept(f"its rows depend on each other: what it returns for some of them at once and in halves differs by {worst:.1e}")


def _compare_outputs(call, rows):
    middle = rows // 2
    together = join([call.part(0, rows, with_graph=False)])
    first = call.part(0, middle, with_graph=False)
    state, watch = ModuleState(call.model), call.watch()
    second = call.part(middle, rows, with_graph=False, watch=watch)
    state.check("each call changes {}, which is kept beside its output")
    _check_equal(call, together, join([first, second]))
    del together, first, second
    if watch.kept_outside():
        raise NotKept("a tensor that its forward pass makes is kept somewhere outside its output")


def _chosen(call):
    """Parameters, the smallest first: norms and biases of all layers, or adapters, which a backward pass comes to last and first."""
    chosen, left = [], _MOST_GRADIENTS
    for one in sorted((one for one in call.model.parameters() if one.requires_grad), key=torch.Tensor.numel):
        left -= one.numel()
        if chosen and left < 0:
            break
        chosen.append(one)
    return chosen


def _seed(tensor, start):
    """Gradients of an output that differ from row to row; no generator is asked."""
    rows = torch.arange(start, start + tensor.shape[0], device=tensor.device, dtype=torch.float32)
    column = torch.arange(tensor[0].numel(), device=tensor.device, dtype=torch.float32).reshape(tensor.shape[1:])
    phase = rows.reshape(-1, *[1] * (tensor.dim() - 1)) * 1.7 + column * 0.37
    return torch.cos(phase).to(tensor.dtype)


def _gradients(call, chosen, start, stop):
    part = call.part(start, stop)
    outputs, seeds = [], []
    for one in tensors_of(part.output):
        if not one.requires_grad or (one.dim() == 0 and not part.weight):
            continue
        outputs.append(one)
        seeds.append(_seed(one, start * (one.shape[0] // part.rows)) if one.dim() else torch.full_like(one, part.weight))
    if not outputs:
        return [None] * len(chosen)
    with call.random_rows(start, stop):
        return torch.autograd.grad(outputs, chosen, seeds, allow_unused=True)


def _compare_gradients(call, rows):
    """By the norm of all of them together: one may be nothing but rounding, as that of a key's bias is."""
    chosen, middle = _chosen(call), rows // 2
    together = _gradients(call, chosen, 0, rows)
    first = _gradients(call, chosen, 0, middle)
    second = _gradients(call, chosen, middle, rows)
    far = size = 0.0
    for whole, *halves in zip(together, first, second):
        if whole is None:
            continue
        found = sum(one for one in halves if one is not None)
        same = (whole == found) | (whole.isnan() & found.isnan())
        far += torch.where(same, 0.0, (whole - found).float()).square().sum().item()
        size += torch.where(whole.isfinite(), whole, 0.0).float().square().sum().item()
    worst = (far / max(size, 1e-60)) ** 0.5
    if not worst <= call.bound():
        raise NotKept(f"its rows depend on each other: gradients of some of them at once and in halves differ by {worst:.1e}")


def _fits(compare, call, rows):
    try:
        compare(call, rows)
    except OutOfMemory:
        return False
    return True


def _compare(compare, call, rows):
    """Returns whether as many as two rows fitted."""
    rows = max(rows // 2 * 2, 2)  # The halves are alike, so that what is kept for a number of rows is not made anew.
    while not _fits(compare, call, rows):
        if rows <= 2:
            return False
        rows = max(rows // 4 * 2, 2)
    return True


def check_rows_alone(call, rows, needs_gradients=True):
    """Raises NotKept if rows 0 to `rows` of the call, or fewer if they do not fit, are not what they are in halves, or if it does
    anything beside returning them. The modules are then as before. Without `needs_gradients`, those that do not fit are not compared."""
    state = ModuleState(call.model, keeps=True)
    try:
        if not _compare(_compare_outputs, call, rows):
            raise NotKept("two rows do not fit, even without a graph")
        if not _compare(_compare_gradients, call, rows) and needs_gradients:
            raise NotKept("two rows do not fit, as a check of their gradients needs")
    finally:
        state.restore()
