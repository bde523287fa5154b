# SPDX-License-Identifier: Apache-2.0
"""A batch as rows: how many it has, and some of them. A batch is a mapping of names to tensors whose first dimension is the
rows, and to values that hold for all rows."""
import torch

from headroom_inject.not_kept import NotKept

_PLAIN = (int, float, bool, str, type(None))


def count_rows(inputs):
    """Raises NotKept if an entry is neither rows nor a plain value: nobody knows how to cut it."""
    if not hasattr(inputs, "items"):
        raise NotKept(f"the batch is no mapping of names to tensors but {type(inputs).__name__}")
    rows = None
    for name, value in inputs.items():
        if isinstance(value, torch.Tensor) and value.dim() > 0:
            if rows is not None and value.shape[0] != rows:
                raise NotKept(f"{name} has {value.shape[0]} rows where others have {rows}")
            rows = value.shape[0]
            if name == "position_ids" and value.dim() > 2:
                raise NotKept("position_ids of several kinds do not begin with the rows")
        elif not isinstance(value, (torch.Tensor, *_PLAIN)):
            raise NotKept(f"{name} is {type(value).__name__}, which nobody knows how to cut by rows")
    if rows is None:
        raise NotKept("the batch has no rows")
    return rows


def elements_of_row(inputs):
    """Elements of one row of the widest entry: the measure by which batches of unequal length are compared."""
    tensors = [value for value in inputs.values() if isinstance(value, torch.Tensor) and value.dim() > 0]
    return max(value.numel() // max(value.shape[0], 1) for value in tensors)


def cut(inputs, start, stop):
    """Rows start to stop as a dict; views, no copies. `inputs` has passed count_rows()."""
    return {name: value[start:stop] if isinstance(value, torch.Tensor) and value.dim() > 0 else value
            for name, value in inputs.items()}
