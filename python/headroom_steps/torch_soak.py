# SPDX-License-Identifier: Apache-2.0
"""A load that varies for minutes: products large and small, memory up and down, training, idle gaps. Every answer is held against the first one.

The products are of matrices of -1, 0 and 1: their sums are small whole numbers, which 16 bits hold exactly in whatever order they are added.
So one bit that differs is an error of the device, and no rounding.
"""
import copy
import time

import torch

from headroom_steps.protocol import failed, passed, say, skipped
from headroom_steps.torch_memory import GIB, KEPT, MIB

LONGEST_PHASE_S = 4
PHASES_IN_ALL = 30  # Of a short load: as many phases as show each kind more than once.
SMALL = 512
IN_FLIGHT = 4  # Products that the device has before it are as many; it never waits for the next.
SHARE = 0.9  # Of what a job gets: the load's own matrices need the rest.
LEVELS = (0.5, 1.0, 0.25, 0.75)
TRAINING_STEPS = 10
SAME_LOSS = 1e-2  # Sums of a training may be in another order each time.


def median(values):
    return sorted(values)[len(values) // 2]


class Soak:
    def soak(self):
        self.answers, self.first, self.left_free = 0, {}, []
        self.phase_s = min(LONGEST_PHASE_S, self.options.soak_seconds / PHASES_IN_ALL)
        on_gpu = self.device.type != "cpu"
        small = self.whole_numbers(SMALL, torch.float32)
        wrong = self.check_first(small)
        if wrong:
            return wrong
        large = self.whole_numbers(4096 if on_gpu else 1024, torch.float16 if on_gpu else torch.float32)
        self.start = self.samples(32)
        phases = (lambda: self.products("large", large), self.up_and_down, lambda: self.products("large", large), self.train_again,
                  lambda: self.products("small", small), self.idle)
        self.multiply(large)  # Code is loaded before the time runs.
        self.begin, self.rounds = time.perf_counter(), 0
        while self.elapsed() < self.options.soak_seconds:
            for phase in phases:
                wrong = phase()
                if wrong:
                    return wrong
            self.rounds += 1
        return passed(self.answers, "answers", f"in {self.elapsed() / 60:.3g} min, each the same as the first, bit for bit")

    def elapsed(self):
        return time.perf_counter() - self.begin

    def whole_numbers(self, size, dtype):
        return [torch.randint(-1, 2, (size, size), generator=self.random).to(dtype).to(self.device) for _ in range(2)]

    def check_first(self, operands):
        """What all later answers are held against must be right itself."""
        wanted = torch.matmul(*(one.to("cpu").double() for one in operands))
        found = torch.matmul(*operands).to("cpu").double()
        wrong = int((found != wanted).sum())
        if wrong:
            return failed(f"{wrong} elements of a product of whole numbers are not what the processor computes", wrong, "elements")
        return None

    def multiply(self, operands):
        """Several at once, as a job has them; the seconds of one."""
        begin = time.perf_counter()
        answers = [torch.matmul(*operands) for _ in range(IN_FLIGHT)]
        self.wait()
        return answers, (time.perf_counter() - begin) / IN_FLIGHT

    def products(self, name, operands):
        times, end = [], time.perf_counter() + self.phase_s
        while True:
            answers, seconds = self.multiply(operands)
            times.append(seconds)
            for answer in answers:
                wrong = self.compare(name, answer)
                if wrong:
                    return wrong
            if time.perf_counter() >= end:
                break
        if name == "large":
            say(soak={"at": self.elapsed(), "seconds": median(times)})
        else:
            say(soak={"at": self.elapsed()})
        return None

    def compare(self, name, answer):
        if name not in self.first:
            self.first[name] = (answer, answer.to("cpu", copy=True))
        kept, copied = self.first[name]
        if torch.equal(answer, kept):
            self.answers += 1
            return None
        if not torch.equal(kept.to("cpu"), copied):
            return failed(f"an answer that lay in the device's memory for {self.elapsed():.0f} s changed there", kind="memory")
        wrong = int((answer != kept).sum())
        return failed(f"{wrong} of {answer.numel()} elements of a {name} product differ from the first answer to it, after {self.elapsed():.0f} s "
                      f"and {self.answers} answers that did not", wrong, "elements", kind="unstable")

    def up_and_down(self):
        """Memory in steps towards what a job gets, written and read back, then all of it given back."""
        self.empty()
        result = self.fill(int(SHARE * LEVELS[self.rounds % len(LEVELS)] * self.options.bytes))
        self.empty()
        if result["ok"] is False:
            return result
        if self.device.type != "cpu":
            self.left_free.append(torch.cuda.mem_get_info(self.device)[0])
        say(soak={"at": self.elapsed()})
        return None

    def empty(self):
        if self.device.type != "cpu":
            torch.cuda.synchronize(self.device)
            torch.cuda.empty_cache()

    def train_again(self):
        """The same few steps from the same beginning."""
        model, images, labels = self.start
        losses, _ = self.train(copy.deepcopy(model).to(self.device), images.to(self.device), labels.to(self.device), TRAINING_STEPS)
        first = self.first.setdefault("training", losses)
        for step, (now, then) in enumerate(zip(losses, first), 1):
            if not abs(now - then) <= SAME_LOSS * max(1.0, abs(then)):  # True for what is not a number.
                return failed(f"the loss of step {step} of the same training was {then:.5f} at first and is {now:.5f} after {self.elapsed():.0f} s",
                              kind="unstable")
        self.answers += 1
        say(soak={"at": self.elapsed()})
        return None

    def idle(self):
        """Clocks and voltages go down, and up again with the next product."""
        time.sleep(self.phase_s / 2)
        say(soak={"at": self.elapsed()})

    def soak_memory(self):
        """What is free once the load is over, below what was free after its first round."""
        if self.device.type == "cpu":
            return skipped("the processor's memory is the system's")
        if len(getattr(self, "left_free", ())) < 2:
            return skipped("the load did not come round twice")
        for _ in range(20):  # The driver may take a moment.
            self.empty()
            missing = self.left_free[0] - torch.cuda.mem_get_info(self.device)[0]
            if missing <= KEPT:
                return passed(max(0, missing) / MIB, "MiB", f"lost over {len(self.left_free)} rounds, by the driver's count")
            time.sleep(0.1)
        return failed(f"{missing / MIB:.0f} MiB of {self.left_free[0] / GIB:.1f} GiB that were free after the first round did not come back after "
                      f"{len(self.left_free)} rounds", missing / MIB, "MiB", kind="lost")
