# SPDX-License-Identifier: Apache-2.0
"""`headroom try` in PyTorch: the weights, the training and what it counts of memory."""
import contextlib

import torch

from headroom_steps.torch_memory import Memory
from headroom_steps.trial import draws
from headroom_steps.trial.resident import Resident
from headroom_steps.trial.torch_model import DTYPES, Model, batch_of


def missing_target(device):
    """The GPU's target where this PyTorch has no code for it; None where it has, or does not say."""
    if not device.startswith("cuda"):
        return None
    target = getattr(torch.cuda.get_device_properties(device), "gcnArchName", "").split(":")[0]
    built = [name for name in torch.cuda.get_arch_list() if name.startswith("gfx")]
    return (target, built) if target and built and target not in built else None


class OwnCount:
    """PyTorch's own of a GPU: what its tensors hold, without what the driver and the caches take."""

    source = "torch.cuda.max_memory_allocated"

    def __init__(self, device):
        self.device = device
        self.begin = torch.cuda.memory_allocated(device)
        self.restart()

    def restart(self):
        torch.cuda.reset_peak_memory_stats(self.device)

    def peak(self):
        return torch.cuda.max_memory_allocated(self.device) - self.begin

    def live(self):
        return torch.cuda.memory_allocated(self.device) - self.begin


class Returned(Memory):
    """The test's own step, of memory that has to come back."""

    def __init__(self, device, count):
        self.device = torch.device(device)
        self.options = type("Options", (), {"bytes": count})


class Stack:
    def __init__(self, device):
        self.device = torch.device(device)
        self.block = None

    def prepare(self):
        """What would be counted as the job's otherwise."""
        self.block = draws.spread(torch.arange(draws.LENGTH)).to(torch.float32)

    def count(self):
        return Resident() if self.device.type == "cpu" else OwnCount(self.device)

    def wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def returned(self):
        """A step that failed where memory that was given back is not free again; else None."""
        if self.device.type == "cpu":
            return None
        answer = Returned(self.device, 1 << 30).released()
        return answer if answer["ok"] is False else None

    def fill(self, one, key, scale):
        if one.kind != "drawn":
            return torch.full(one.shape, float(one.kind == "ones"))
        flat = torch.empty(one.count())
        draws.fill(flat, self.block, key)
        return flat.mul_(scale).view(one.shape)

    def weights(self, job, device):
        made = {}
        for key, one in enumerate(job.parameters()):
            dtype = torch.float32 if job.rank and job.is_trained(one.name) else DTYPES[job.weights]
            made[one.name] = self.fill(one, key, job.spread).to(dtype).to(device).requires_grad_(job.is_trained(one.name))
        return made

    def cast(self, job):
        if job.weights == job.dtype:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, DTYPES[job.dtype])

    def loss_and_slope(self, job, on_processor=False):
        """As reference.py's, on the device."""
        device = torch.device("cpu") if on_processor else self.device
        weights = self.weights(job, device)
        loss = Model(job, weights).loss(*batch_of(job, device))
        loss.backward()
        slope = 0.0
        for key, one in enumerate(job.parameters()):
            if job.is_trained(one.name):
                direction = torch.empty(one.count())
                draws.fill(direction, self.block, 1000 + key)
                slope += float((weights[one.name].grad.detach().to("cpu").double().view(-1) * direction.double()).sum())
        return loss.item(), slope

    def optimizer(self, job, weights):
        """As in the job; in 16 bits with an epsilon that they can hold."""
        trained = [one for one in weights.values() if one.requires_grad]
        if job.optimizer == "sgd":
            return torch.optim.SGD(trained, lr=job.learning_rate, momentum=0.9 if job.momentum else 0, weight_decay=job.weight_decay,
                                   foreach=job.foreach)
        fused = {"fused": True} if job.fused else {"foreach": job.foreach}
        return torch.optim.AdamW(trained, lr=job.learning_rate, weight_decay=job.weight_decay, eps=job.epsilon, **fused)

    def train(self, job):
        """Yields the loss of each step when it has been done."""
        model = Model(job, self.weights(job, self.device))
        inputs, labels = batch_of(job, self.device)
        optimizer = self.optimizer(job, model.weights)
        while True:
            optimizer.zero_grad(set_to_none=True)
            with self.cast(job):
                loss = model.loss(inputs, labels)
            loss.backward()
            optimizer.step()
            value = loss.item()
            self.wait()
            del loss  # Else its graph would live on beside the next one's.
            yield value
