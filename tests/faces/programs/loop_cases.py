# SPDX-License-Identifier: Apache-2.0
"""Training loops as people write them, without a Trainer. A case is a function that makes the models anew and returns them, by name,
with a function that does the step of a number, up to its gradients, and returns the loss."""
import dataclasses

import torch
from torch import nn
from torch.nn import functional

import split_cases

WIDTH, ROWS = 24, 8
DEVICE = "cuda"


def numbers(step, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(step)).to(DEVICE)


class Net(nn.Module):
    """Rows of WIDTH to rows of `wide`."""

    def __init__(self, wide=WIDTH, dropout=0.0):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.LayerNorm(2 * WIDTH), nn.GELU(), nn.Dropout(dropout),
                                    nn.Linear(2 * WIDTH, wide))

    def forward(self, x):
        return self.layers(x)


@dataclasses.dataclass
class Both:
    mean: torch.Tensor
    more: dict
    name: str = "both"


class Several(Net):
    """A dataclass with a dict; one of its tensors needs no gradient, another gets none."""

    def forward(self, x, scale=1.0, extra=None):
        found = self.layers(x) * scale
        return Both(found.mean(dim=1), {"all": found, "target": found.detach() + 1, "unused": found * 2, "kind": extra["kind"] + 1})


def plain():
    model = Net(dropout=0.2).to(DEVICE)

    def step(number):
        loss = functional.mse_loss(model(numbers(number, ROWS, WIDTH)), numbers(number + 100, ROWS, WIDTH))
        loss.backward()
        return loss

    return {"model": model}, step


def several_outputs():
    model = Several(dropout=0.1).to(DEVICE)

    def step(number):
        found = model(numbers(number, ROWS, WIDTH), extra={"kind": torch.arange(ROWS, device=DEVICE)})
        loss = (found.mean.square().sum() + (found.more["all"] - found.more["target"].tanh()).abs().mean()) * found.more["kind"].sum()
        loss.backward()
        return loss

    return {"model": model}, step


def backbone_and_head():
    backbone, head = Net(dropout=0.1).to(DEVICE), nn.Linear(WIDTH, 3).to(DEVICE)

    def step(number):
        loss = functional.cross_entropy(head(backbone(numbers(number, ROWS, WIDTH))), torch.arange(ROWS, device=DEVICE) % 3)
        loss.backward()
        return loss

    return {"backbone": backbone, "head": head}, step


def siamese():
    model = Net(dropout=0.1).to(DEVICE)

    def step(number):
        one, other = model(numbers(number, ROWS, WIDTH)), model(numbers(number + 50, ROWS, WIDTH))
        loss = functional.cross_entropy(one @ other.T, torch.arange(ROWS, device=DEVICE))
        loss.backward()
        return loss

    return {"model": model}, step


def gan():
    """The generator's step; the discriminator's gradients are computed too."""
    generator, discriminator = Net(dropout=0.1).to(DEVICE), Net(1).to(DEVICE)

    def step(number):
        made = generator(numbers(number, ROWS, WIDTH))
        loss = functional.softplus(-discriminator(made)).mean() + 0.1 * made.abs().mean()
        loss.backward()
        return loss

    return {"generator": generator, "discriminator": discriminator}, step


def inputs_need_gradients():
    model, prompt = Net(dropout=0.1).to(DEVICE), nn.Linear(WIDTH, WIDTH).to(DEVICE)

    def step(number):
        x = functional.linear(numbers(number, ROWS, WIDTH), prompt.weight).tanh()
        loss = model(x).square().mean()
        loss.backward()
        return loss

    return {"model": model, "prompt": prompt}, step


def logits(make_model=split_cases.gpt2, **more):
    """The loss is the script's own."""
    model = make_model(**more).to(DEVICE).train()
    data = split_cases.rows(2 * ROWS, True)

    def step(number):
        batch = _batch(data, number)
        found = model(input_ids=batch["input_ids"]).logits
        loss = functional.cross_entropy(found[:, :-1].flatten(0, 1), batch["labels"][:, 1:].flatten())
        loss.backward()
        return loss

    return {"model": model}, step


def model_loss():
    """The loss comes from the model: a mean over labels that are uneven. With adapters and checkpointing."""
    model = split_cases.llama_with_adapter()
    model.enable_input_require_grads()
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model.to(DEVICE).train()
    data = split_cases.rows(2 * ROWS, True)

    def step(number):
        loss = model(**_batch(data, number)).loss
        loss.backward()
        return loss

    return {"model": model}, step


def accelerated(own_loss=False, **arguments):
    """accelerate's loop, of two batches for a step of the optimizer."""
    from accelerate import Accelerator
    accelerator = Accelerator(gradient_accumulation_steps=2, **arguments)
    model = split_cases.gpt2(0.1)
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.0))
    data = split_cases.rows(2 * ROWS, True)

    def step(number):
        with accelerator.accumulate(model):
            batch = _batch(data, number)
            if own_loss:
                found = model(input_ids=batch["input_ids"]).logits
                loss = functional.cross_entropy(found[:, :-1].flatten(0, 1), batch["labels"][:, 1:].flatten())
            else:
                loss = model(**batch).loss
            accelerator.backward(loss)
        return loss

    return {"model": model}, step


def autocast():
    model = Net(dropout=0.1).to(DEVICE)

    def step(number):
        with torch.autocast("cuda", torch.bfloat16):
            found = model(numbers(number, ROWS, WIDTH))
        loss = functional.mse_loss(found.float(), numbers(number + 100, ROWS, WIDTH))
        loss.backward()
        return loss

    return {"model": model}, step


def _batch(data, number):
    rows = data[number % 2 * ROWS:][:ROWS]
    return {name: torch.stack([row[name] for row in rows]).to(DEVICE) for name in rows[0]}


CASES = {
    "plain": plain,
    "several outputs": several_outputs,
    "backbone and head": backbone_and_head,
    "siamese": siamese,
    "gan": gan,
    "inputs need gradients": inputs_need_gradients,
    "logits": logits,
    "loss from the model": model_loss,
    "accelerate": accelerated,
    "accelerate, own loss": lambda: accelerated(own_loss=True),
    "autocast": autocast,
}
COARSE = {"autocast"}
