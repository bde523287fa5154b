# SPDX-License-Identifier: Apache-2.0
"""A small network in JAX and TensorFlow: that of `headroom try`, whose loss and gradients Python's own numbers tell."""
import math
import time

from headroom_steps.protocol import failed, passed
from headroom_steps.tolerances import compare
from headroom_steps.trial import reference
from headroom_steps.trial.job import Job

LOSS_TOLERANCE = 1e-2  # Rounding grows over the steps.
KEYS = {"vocabulary": 61, "features": 0, "outputs": 0, "per_sample": False, "shifted": True, "hidden": 32, "layers": 2, "heads": 4, "kv_heads": 2,
        "head_dim": 8, "intermediate": 48, "gated": True, "activation": "silu", "norm": "rms", "eps": 1e-5, "biases": [], "positions": "rotary",
        "position_rows": 0, "theta": 1e4, "causal": True, "tied": True, "batch": 2, "sequence": 9, "dtype": "fp32", "weights": "fp32",
        "checkpointing": False, "rank": 0, "alpha": 1, "targets": [], "optimizer": "adamw", "momentum": False, "foreach": True, "fused": False,
        "learning_rate": 1e-3, "weight_decay": 0.01, "epsilon": 1e-8}


class Training:
    """`stack(device)` gives the framework's part of a trial."""

    def network(self):
        small = Job(KEYS).small()
        loss, slope = self.stack(self.device).loss_and_slope(small)
        wanted, wanted_slope = reference.loss_and_slope(small)
        worst = max(abs(loss - wanted) / abs(wanted), abs(slope - wanted_slope) / max(abs(wanted_slope), 1e-3))
        return compare(worst if math.isfinite(loss + slope) else math.nan, "fp32", "loss or gradient of a small network")

    def losses(self, device):
        begin, losses = None, []
        for loss in self.stack(device).train(Job(KEYS).small()):
            losses.append(loss)
            begin = begin or time.perf_counter()
            if len(losses) >= self.options.training_steps:
                return losses, (time.perf_counter() - begin) / max(1, len(losses) - 1)
        return losses, 0.0

    def training(self):
        found, seconds = self.losses(self.device)
        wanted = self.losses("cpu")[0] if self.on_gpu else found
        for step, (loss, other) in enumerate(zip(found, wanted), 1):
            if not abs(loss - other) <= LOSS_TOLERANCE * abs(other):  # Nor where it is no number.
                return failed(f"the loss of step {step} is {loss:.4g}, on the processor {other:.4g}", abs(loss - other), "difference of the loss")
        if len(found) > 1 and not found[-1] < found[0]:
            return failed(f"the loss was {found[0]:.4g} and did not fall in {len(found)} steps: {found[-1]:.4g}")
        return passed(1000 * seconds, "ms a step", f"{len(found)} steps, loss {found[0]:.4g}, at the end {found[-1]:.4g}")
