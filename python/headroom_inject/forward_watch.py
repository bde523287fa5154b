# SPDX-License-Identifier: Apache-2.0
"""What a forward pass does beside returning its output, seen while some rows of it are computed.

A call can be made again by rows only if it does nothing else. So a write to a tensor that it did not make itself (an input, a running mean,
anything of the script's) is refused before it happens, as are hooks on tensors, which would see parts of a batch, and, in
modules of the script's own, numbers that leave the GPU to be kept or to decide. Afterwards `kept_outside()` tells whether a tensor
that was made here is still alive though the output is gone: then it lies in a list, a namespace or a closure, for somebody to read.
"""
import gc

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from headroom_inject.not_kept import NotKept

aten = torch.ops.aten
_HOOKS = {torch.Tensor.register_hook, torch.Tensor.register_post_accumulate_grad_hook}
_MADE_OUTSIDE = {aten.lift_fresh.default}  # torch.tensor(): its storage was made before it got here.
_written = {}  # Operator → numbers of the arguments that it writes to, and their names.


def _writes(func):
    found = _written.get(func)
    if found is None:
        found = _written[func] = [(number, one.name) for number, one in enumerate(func._schema.arguments)
                                  if one.alias_info is not None and one.alias_info.is_write]
    return found


class _Hooks(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in _HOOKS:
            raise NotKept("a hook on a tensor within its forward pass sees parts of a batch")
        return func(*args, **(kwargs or {}))


class ForwardWatch(TorchDispatchMode):
    """Raises NotKept from within the forward pass. `may_read`: whether floating-point values may come to Python. `named`: pairs of
    names and tensors that were there before."""

    def __init__(self, may_read, named=()):
        super().__init__()
        self._may_read, self._made, self._hooks = may_read, {}, _Hooks()
        self._names = {one.untyped_storage()._cdata: name for name, one in named if one.layout is torch.strided}

    def __enter__(self):
        self._hooks.__enter__()
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self._hooks.__exit__(*error)

    def _check_write(self, func, args, kwargs):
        for number, name in _writes(func):
            given = args[number] if number < len(args) else kwargs.get(name)
            for tensor in tree_leaves(given):
                if isinstance(tensor, torch.Tensor) and not self.has_made(tensor):
                    known = self._names.get(tensor.untyped_storage()._cdata, "a tensor that it did not make")
                    raise NotKept(f"its forward pass writes into {known} ({func})")

    def has_made(self, tensor):
        """Whether it lies in memory that was taken here."""
        return tensor.untyped_storage()._cdata in self._made

    def _note(self, func, args, result):
        given = None
        for tensor in tree_leaves(result):
            if not isinstance(tensor, torch.Tensor) or tensor.layout is not torch.strided:
                continue
            storage = tensor.untyped_storage()
            if storage._cdata in self._made:
                continue
            if given is None and func not in _MADE_OUTSIDE:
                given = {one.untyped_storage()._cdata for one in tree_leaves(args)
                         if isinstance(one, torch.Tensor) and one.layout is torch.strided}
            if given is None or storage._cdata not in given:
                self._made[storage._cdata] = StorageWeakRef(storage)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is aten._local_scalar_dense.default and not self._may_read and args[0].dtype.is_floating_point:
            raise NotKept("its forward pass takes a number from a tensor (item(), float()), which would be that of some rows")
        self._check_write(func, args, kwargs)
        result = func(*args, **kwargs)
        self._note(func, (args, kwargs), result)
        return result

    def kept_outside(self):
        """How many tensors are still alive of those that were made here. Call it when the output is gone."""
        gc.collect()
        return sum(not one.expired() for one in self._made.values())
