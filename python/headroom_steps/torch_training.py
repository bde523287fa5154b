# SPDX-License-Identifier: Apache-2.0
"""A small network forwards and backwards, and trained, beside the same on the processor."""
import copy
import math
import time

import torch

from headroom_steps.protocol import failed, passed
from headroom_steps.tolerances import compare

F = torch.nn.functional
LOSS_TOLERANCE = 1e-2  # Rounding grows over the steps.


def network():
    layers = [torch.nn.Conv2d(3, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Conv2d(32, 64, 3, padding=1),
              torch.nn.GELU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.LayerNorm(64), torch.nn.Linear(64, 10)]
    return torch.nn.Sequential(*layers)


class Training:
    def samples(self, count):
        torch.manual_seed(17)  # Of the weights, which are drawn on the processor.
        return network(), self.draw(count, 3, 32, 32), torch.randint(0, 10, (count,), generator=self.random)

    def network(self):
        model, images, labels = self.samples(16)
        wanted = copy.deepcopy(model).double()
        F.cross_entropy(wanted(images.double()), labels).backward()
        model = model.to(self.device)
        F.cross_entropy(model(images.to(self.device)), labels.to(self.device)).backward()
        worst = 0.0
        for ours, theirs in zip(model.parameters(), wanted.parameters()):
            difference = float((ours.grad.to("cpu").double() - theirs.grad).abs().max() / theirs.grad.abs().max().clamp(min=1e-3))
            worst = difference if math.isnan(difference) else max(worst, difference)
        return compare(worst, "fp32", "a gradient of a small network")

    def train(self, model, images, labels, steps=None):
        """The losses, and the seconds of a step after the first; --training-steps of them where it is not said."""
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        losses, begin = [], None
        for _ in range(steps or self.options.training_steps):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            begin = begin or time.perf_counter()
        return losses, (time.perf_counter() - begin) / max(1, len(losses) - 1)

    def training(self):
        model, images, labels = self.samples(32)
        wanted, _ = self.train(copy.deepcopy(model), images, labels)
        losses, seconds = self.train(model.to(self.device), images.to(self.device), labels.to(self.device))
        for step, (ours, theirs) in enumerate(zip(losses, wanted), 1):
            if not abs(ours - theirs) <= LOSS_TOLERANCE * max(1.0, abs(theirs)):  # True for what is not a number.
                return failed(f"the loss of step {step} is {ours:.5f} and on the processor {theirs:.5f}", 1000 * seconds, "ms a step")
        return passed(1000 * seconds, "ms a step", f"{len(losses)} steps, loss {losses[0]:.3f} to {losses[-1]:.3f} as on the processor")
