# SPDX-License-Identifier: Apache-2.0
"""How much the loss of some rows weighs in the loss of the whole batch.

The losses of transformers are means over labels that count (transformers: loss/loss_utils.py). So a part weighs as many as it
has of them; where the Trainer hands the number of the whole step's labels down (num_items_in_batch), each loss is a sum over that
number, and a part weighs 1. What a model really does is seen at its loss function: a recorder stands there while a part is computed.
"""
import contextlib
import inspect
import math

from headroom_inject.not_kept import NotKept
from headroom_inject.written_in import is_foreign

IGNORED = -100  # transformers' and PyTorch's ignore_index.
_MODULE = "transformers.loss.loss_utils"
_SHIFTED, _UNSHIFTED, _ROWS = "shifted", "unshifted", "rows"
_KINDS = {"ForCausalLMLoss": _SHIFTED, "ForMaskedLMLoss": _UNSHIFTED, "ForTokenClassification": _UNSHIFTED,
          "ForSequenceClassificationLoss": _ROWS}


def _count(labels, kind):
    if kind == _SHIFTED:
        labels = labels[..., 1:]
    return int((labels != IGNORED).sum())


class LossWeight:
    """Of one batch under one model; the model is the innermost, a transformers.PreTrainedModel."""

    def __init__(self, model, inputs):
        """Raises NotKept if the loss is not one that is known here, or the batch has not what it needs."""
        self._model, self._calls = model, []
        self._function = getattr(model, "loss_function", None)
        name = getattr(self._function, "__name__", "none")
        if not type(model).__module__.startswith("transformers.models."):
            raise NotKept(f"the loss of {type(model).__name__} is unknown; those of transformers' own models are known")
        if getattr(self._function, "__module__", "") != _MODULE or name not in _KINDS or is_foreign(self._function):
            raise NotKept(f"the loss of {type(model).__name__}, {name}, is not known to be a mean over labels")
        if "loss_function" not in inspect.unwrap(type(model).forward).__code__.co_names:
            raise NotKept(f"{type(model).__name__} computes its loss itself, not by transformers' loss functions")
        self._kind = _KINDS[name]
        self._labels = inputs.get("labels")
        if self._labels is None or "shift_labels" in inputs:
            raise NotKept("the batch has no labels of the usual kind")
        problem = getattr(model.config, "problem_type", None)
        self._by_values = self._kind == _ROWS and (
            problem in ("regression", "multi_label_classification") or self._labels.is_floating_point()
            or (problem is None and getattr(model.config, "num_labels", 2) == 1))
        self._whole = self._count(self._labels)
        if self._whole == 0:
            raise NotKept("the batch has no label that counts")

    def _count(self, labels):
        return labels.numel() if self._by_values else _count(labels, self._kind)

    @contextlib.contextmanager
    def recorded(self):
        """While it lasts, every call of the model's loss function is seen."""
        before = vars(self._model).get("_loss_function")
        self._calls.clear()

        def recorder(*args, **kwargs):
            loss = self._function(*args, **kwargs)
            self._calls.append((loss.detach().clone(), self._arguments(args, kwargs)))  # Adapters add to it in place.
            return loss

        self._model.loss_function = recorder
        try:
            yield
        finally:
            self._calls.clear()
            if before is None:
                del self._model._loss_function
            else:
                self._model.loss_function = before

    def weight(self, start, stop, loss, divisors):
        """Between forward and backward of rows start to stop: what their loss is multiplied by. `loss` is what backward is called
        with: the loss function's, divided by one of `divisors`. Raises NotKept if it is not."""
        if len(self._calls) != 1:
            raise NotKept(f"the model called its loss function {len(self._calls)} times in a step; expected once")
        (found, given), = self._calls
        self._calls.clear()
        labels = self._labels[start:stop]
        count = self._count(labels)
        self._check_labels(given, labels, count)
        if count:  # Without any, a mean is no number.
            self._check_sum(float(found), float(loss.detach()), divisors, loss.dtype.itemsize)
        is_sum = given.get("num_items_in_batch") is not None
        if is_sum and self._by_values:
            is_sum = False  # Squares and logits are averaged whatever is handed down.
        return 1.0 if is_sum else count / self._whole

    def _arguments(self, args, kwargs):
        """By name."""
        found = dict(inspect.signature(self._function).bind(*args, **kwargs).arguments)
        return {**found, **found.pop("kwargs", {})}

    def _check_labels(self, given, labels, count):
        found = given.get("labels")
        if found is None or tuple(found.shape) != tuple(labels.shape):
            raise NotKept(f"the model turns labels of shape {list(labels.shape)} into others, of {list(getattr(found, 'shape', ()))}")
        if given.get("shift_labels") is not None:
            raise NotKept("the batch has no labels of the usual kind")
        if given.get("ignore_index", IGNORED) != IGNORED:
            raise NotKept(f"the labels that do not count are {given['ignore_index']}, not {IGNORED} (ignore_index)")
        if self._count(found) != count:
            raise NotKept(f"the model lets {self._count(found)} labels count where the batch has {count}")

    @staticmethod
    def _check_sum(found, loss, divisors, bytes_of_value):
        tolerance = 1e-5 if bytes_of_value >= 4 else 1e-2
        if not math.isfinite(found) and (loss == found or loss != loss):
            return  # The whole's is none either.
        if not any(abs(loss * divisor - found) <= tolerance * abs(found) for divisor in divisors):
            raise NotKept(f"the loss is not its loss function's alone: expected {found:.6g}, found {loss:.6g}; an auxiliary loss?")
