# SPDX-License-Identifier: Apache-2.0
"""The random numbers of a part of a batch, as the whole batch would have drawn them.

Inside the mode, what draws random numbers for each row draws them for all rows of the batch and takes those of the part.
The generators must stand, for each part, where they stood when the whole began; after it they stand where the whole would have left
them. A draw for all rows has the shape, the type and the strides that the whole's had, because a GPU's numbers depend on how its
kernel cuts the tensor, and on whether there are gaps in it. It takes one tensor of the whole's size for a moment.

The first dimension says whether a draw is per row: as many as the part has rows. One value, or a first dimension of 1 in a
part of more rows, is a draw that all rows share. In a part of one row the two look alike; there it is what such draws were in
parts of more rows (DrawKinds). Anything else raises NotKept, as does an operation that is not known here.
"""
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from headroom_inject.not_kept import NotKept

aten = torch.ops.aten

_IN_PLACE = {aten.bernoulli_.float, aten.uniform_.default, aten.normal_.default}
_LIKE = {aten.rand_like.default, aten.randn_like.default}
_OF_SIZE = {aten.rand.default: 0, aten.randn.default: 0, aten.randint.default: 1, aten.randint.low: 2}


def _draws(func, args, kwargs):
    """Whether this call takes numbers from a generator. Fused kernels do so only with a dropout."""
    if torch.Tag.nondeterministic_seeded not in func.tags:
        return False
    for number, argument in enumerate(func._schema.arguments):
        if argument.name in ("dropout_p", "dropout"):  # Attention's, and those of recurrent layers.
            given = args[number] if number < len(args) else kwargs.get(argument.name, argument.default_value)
            return bool(given)
    return True


def _has_own_generator(args, kwargs):
    return any(isinstance(value, torch.Generator) for value in tree_flatten((args, kwargs))[0])


class DrawKinds:
    """Which of a model's draws are per row, as parts of more rows than one have shown."""

    def __init__(self):
        self._seen = {}  # What tells draws apart that do not depend on lengths → whether they were per row.
        self._layouts = {}  # The same → how they lay in memory.

    @staticmethod
    def _key(func, shape):
        return func, tuple(size == 1 for size in shape[1:])

    def note(self, func, shape, is_per_row):
        self._seen.setdefault(self._key(func, shape), set()).add(is_per_row)

    def is_per_row(self, func, shape):
        """Raises NotKept if that was never seen, or was both."""
        found = self._seen.get(self._key(func, shape), ())
        if len(found) != 1:
            raise NotKept(f"{func} draws random numbers of shape {list(shape)}, of which nobody knows whether they are one row's or shared")
        return next(iter(found))

    def note_layout(self, func, tensor):
        """Returns how a part of several rows lies: whether the rows share their memory, and which of the other dimensions
        lie around them."""
        outer, *strides = tensor.stride()
        layout = (outer == 0, *(stride > outer > 0 and size > 1 for size, stride in zip(tensor.shape[1:], strides)))
        self._layouts.setdefault(self._key(func, tensor.shape), set()).add(layout)
        return layout

    def layout_of_one_row(self, func, tensor):
        """What note_layout() returned for such draws; a row's own stride tells little. Raises NotKept if that is not one answer."""
        is_apart = tensor.stride(0) > sum((size - 1) * stride for size, stride in zip(tensor.shape[1:], tensor.stride()[1:]))
        seen = self._layouts.get(self._key(func, tensor.shape), set())
        found = [layout for layout in seen if any(layout[1:]) != is_apart] or [(False,) * tensor.dim()] * is_apart
        if len(found) != 1:
            raise NotKept(f"{func} draws random numbers of shape {list(tensor.shape)}, of which nobody knows how those of more rows lie in memory")
        return found[0]


class RandomRows(TorchDispatchMode):
    """Of a batch of `rows`, this part is start to stop. `kinds`: the model's DrawKinds."""

    def __init__(self, rows, start, stop, kinds):
        super().__init__()
        self._rows, self._start, self._stop, self._kinds = rows, start, stop, kinds

    def _is_per_row(self, func, shape):
        part = self._stop - self._start
        if len(shape) == 0:
            return False
        if part == 1 and shape[0] == 1:
            return self._rows == 1 or self._kinds.is_per_row(func, shape)
        if shape[0] in (part, 1):
            self._kinds.note(func, shape, shape[0] == part)
            return shape[0] == part
        raise NotKept(f"{func} draws random numbers of shape {list(shape)}, whose first dimension is not the {part} rows")

    def _whole_like(self, func, tensor):
        """An uninitialised tensor for all rows, laid out as `tensor` is: what lies around the rows in memory is that much wider. Gaps, as
        a slice has them, stay."""
        (part, *others), (outer, *strides) = tensor.shape, tensor.stride()
        find = self._kinds.note_layout if part > 1 else self._kinds.layout_of_one_row
        is_shared, *around = find(func, tensor)
        wider = [stride // part * self._rows if is_around else stride for is_around, stride in zip(around, strides)]
        return torch.empty_strided([self._rows, *others], [0 if is_shared else outer, *wider], dtype=tensor.dtype, device=tensor.device)

    def _part(self, whole):
        return whole[self._start:self._stop]

    def _dropout(self, func, x, probability, train):
        if not train or not self._is_per_row(func, x.shape):
            return func(x, probability, train)
        mask = self._part(func(self._whole_like(func, x), probability, train)[1]).clone()
        scale = 1.0 / (1.0 - probability) if probability < 1 else 0.0
        return x * mask * scale, mask

    def _of_size(self, func, args, kwargs):
        place = _OF_SIZE[func]
        size = torch.Size(args[place])
        if not self._is_per_row(func, size):
            return func(*args, **kwargs)
        whole = [self._rows, *size[1:]]
        return self._part(func(*args[:place], whole, *args[place + 1:], **kwargs)).clone()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if not _draws(func, args, kwargs):
            return func(*args, **kwargs)
        if _has_own_generator(args, kwargs):
            raise NotKept(f"{func} draws from a generator of the program's own")
        if func is aten.native_dropout.default:
            return self._dropout(func, *args, **kwargs)
        if func in _OF_SIZE:
            return self._of_size(func, args, kwargs)
        if func not in _IN_PLACE and func not in _LIKE:
            raise NotKept(f"{func} draws random numbers by itself, so that those of a part are not those of the whole")
        if not self._is_per_row(func, args[0].shape):
            return func(*args, **kwargs)
        whole = self._whole_like(func, args[0])
        drawn = func(whole, *args[1:], **kwargs)
        return args[0].copy_(self._part(whole)) if func in _IN_PLACE else self._part(drawn).clone()
