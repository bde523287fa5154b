# SPDX-License-Identifier: Apache-2.0
"""The steps of `headroom try` in any framework: whether it has code for the device, computes right, and how it trains the job."""
import importlib
import json
import math
import time

from headroom_steps.protocol import failed, passed, say
from headroom_steps.trial import reference
from headroom_steps.trial.job import Job
from headroom_steps.trial.resident import Resident, available, go_first

STACKS = {name: f"headroom_steps.trial.{name}_stack" for name in ("torch", "jax", "tensorflow")}
LOSS = {"fp32": 1e-3, "fp16": 2e-2, "bf16": 6e-2}  # Relative; some ten times what rounding alone leaves.
SLOPE = 1e-2  # Of the small job in 32 bits, over sums of thousands of products.
MIB = 1 << 20
LEAST_RESIDENT = 8  # What a process holds grows for some steps by itself, while its allocator finds its size.
WARM = 2  # Steps after which a training's memory stays as it is.
LEAST_GROWTH = 64 * MIB


def load(framework):
    return importlib.import_module(STACKS[framework])


def difference(found, wanted):
    return abs(found - wanted) / max(abs(wanted), 1e-6)


def growth(lives, peak, least=3):
    """Bytes that every step after the first few added and none gave back; 0 where that is little, one did, or there are fewer than `least`."""
    later = lives[WARM:]
    if len(later) < least or any(after <= before for before, after in zip(later, later[1:])):
        return 0
    grown = later[-1] - later[0]
    return grown if grown > max(LEAST_GROWTH, peak // 20) else 0


class Steps:
    least_steps = 3

    def __init__(self, framework, device, options):
        self.module = load(framework)
        self.device, self.options = device, options
        self.stack = self.module.Stack(device)
        self.job = Job(json.loads(options.job))
        self.stack.prepare()

    def devices(self):
        missing = self.module.missing_target(self.device)
        if missing:
            return failed(f"it has no code for {missing[0]}, only for {', '.join(missing[1])}", kind="target")
        return passed(detail=self.device)

    def correctness(self):
        small = self.job.small()
        wanted, slope = reference.loss_and_slope(small)
        loss, found = self.stack.loss_and_slope(small)
        worst = difference(loss, wanted)
        if not worst <= LOSS["fp32"]:  # Nor where it is not a number.
            return failed(f"the loss of a small job is {loss:.6g}, computed without a framework {wanted:.6g}", worst, "relative difference")
        if not difference(found, slope) <= SLOPE:
            return failed(f"its gradient gives the slope {found:.6g}, computed without a framework {slope:.6g}", difference(found, slope),
                          "relative difference")
        return self.beside_processor() or self.stack.returned() or passed(worst, "relative difference",
                                                                         "of the loss of a small job from what it is without a framework")

    def beside_processor(self):
        """A slice of the job in its own type on the GPU and, with 32 bits, on the processor; None where both agree."""
        if self.device == "cpu":
            return None
        part = self.job.slice()
        there = available()
        if there is not None and 2 * part.in_type("fp32").least_bytes() > there:
            return None  # Beside the processor it would take what other programs need.
        loss, _ = self.stack.loss_and_slope(part.in_type(self.job.dtype))
        wanted, _ = self.stack.loss_and_slope(part.in_type("fp32"), on_processor=True)
        if difference(loss, wanted) <= LOSS[self.job.dtype]:
            return None
        return failed(f"the loss of a slice of the job is {loss:.6g}, on the processor {wanted:.6g}", difference(loss, wanted),
                      "relative difference")

    def too_big(self):
        """A failure where the machine surely has too little memory; None where it may be enough."""
        needed = self.job.least_bytes() if self.device == "cpu" else self.job.list_bytes()
        there = available()
        if there is None or needed <= there:
            return None
        return failed(f"it needs more than {needed / (1 << 30):.1f} GiB, and {there / (1 << 30):.1f} GiB are available", kind="big")

    def training(self):
        go_first()
        big = self.too_big()
        if big:
            return big
        # What a framework takes once, at its first step, is not the job's.
        small = self.stack.train(self.job.small())
        next(small)
        del small
        count, lives, losses, begin = self.stack.count(), [], [], time.perf_counter()
        before = begin
        if count.source == Resident.source:
            self.least_steps = LEAST_RESIDENT
        for loss in self.stack.train(self.job):
            now = time.perf_counter()
            losses.append(loss)
            lives.append(count.live())
            say(progress={"steps": len(losses), "seconds": now - before, "loss": loss if math.isfinite(loss) else None,
                          "peak_bytes": count.peak(), "peak_by": count.source})
            if len(losses) == 1:
                count.restart()  # A step's peak is that of the second, without the compiling and with the optimizer's states.
            answer = self.judge(losses, lives, count.peak(), now - begin)
            if answer:
                return answer
            before = time.perf_counter()
        return failed("the training ended by itself")

    def judge(self, losses, lives, peak, seconds):
        """The answer, once there is one; None: another step."""
        done, wanted = len(losses), self.options.training_steps
        if not math.isfinite(losses[-1]):
            return failed(f"the loss of step {done} is {losses[-1]}", kind="nan")
        if done < wanted and seconds < self.options.seconds:
            return None
        grown = growth(lives, peak, self.least_steps)
        if grown:
            each = grown / MIB / (len(lives) - WARM - 1)
            return failed(f"each step keeps {each:.0f} MiB that it does not give back", grown / MIB, "MiB", kind="grows")
        if done < wanted:
            return failed(f"{done} of {wanted} steps in {seconds:.0f} s", kind="time")
        return passed(detail=f"loss {losses[0]:.4g}, at the end {losses[-1]:.4g}")
