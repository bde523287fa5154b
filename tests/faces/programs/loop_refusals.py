# SPDX-License-Identifier: Apache-2.0
"""Calls of models that are not made by rows: the error is the one that came, no gradient is touched, and one line names the reason.

    loop_refusals.py     prints the reasons
"""
import contextlib
import io
import sys

import headroom_inject

headroom_inject.arrange()  # As sitecustomize does.

import torch  # noqa: E402
from torch import nn  # noqa: E402

import failing  # noqa: E402
import on_cpu  # noqa: E402
import split_cases  # noqa: E402
from loop_cases import ROWS, WIDTH, Net, numbers  # noqa: E402


class Own(Net):
    """A net whose call is `call(self, found)`, what its layers find."""

    def __init__(self, call):
        super().__init__()
        self.call, self.calls, self.kept = call, 0, []
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        return self.call(self, self.layers(x))


def with_loss(_, found):
    return found, found.square().mean()


def counting(net, found):
    net.calls += 1
    return found


def keeping(net, found):
    net.penalty = found.square().mean()
    return found


def listing(net, found):
    net.kept.append(found)
    return found


def buffered(net, found):
    net.seen += 1
    return found


class TimeFirst(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(WIDTH, 2, 2 * WIDTH, dropout=0.0)

    def forward(self, x):
        return self.layer(x[:, None])


class Recurrent(nn.Module):
    """Its rows are moments of time, one after the other."""

    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        state, found = x.new_zeros(WIDTH), []
        for moment in x:
            state = torch.tanh(self.cell(torch.cat([moment, state])))
            found.append(state)
        return torch.stack(found)


def hooked():
    net = Net()
    net.layers[0].register_forward_hook(lambda *_: None)
    return net


def stepping():
    net = Net()
    net.layers[0].weight.register_post_accumulate_grad_hook(lambda parameter: None)
    return net


def with_batch_norm():
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH), nn.Linear(WIDTH, WIDTH))


class OfLists(Net):
    def forward(self, rows):
        return super().forward(torch.stack(rows))


class OfTheWhole(Net):
    def forward(self, x):
        return super().forward(x).mean(dim=0)


class Compared(Net):
    """A loss over pairs, inside the model."""

    def forward(self, x):
        found = super().forward(x)
        return found @ found.T


def call_plain(model):
    return model(numbers(1, ROWS, WIDTH))


def call_one(model):
    return model(numbers(1, 1, WIDTH))


def call_list(model):
    return model(list(numbers(1, ROWS, WIDTH)))


def call_language(model):
    return model(input_ids=torch.arange(ROWS * 4, device="cuda").reshape(ROWS, 4) % 7)


def fused():
    return split_cases.gpt2(0.1, attn_implementation="sdpa")


# What makes the model, how it is called, and words of the reason.
CASES = [
    (with_batch_norm, call_plain, "BatchNorm"),
    (lambda: Own(with_loss), call_plain, "a value of all rows together"),
    (lambda: Own(counting), call_plain, "each call changes calls"),
    (lambda: Own(keeping), call_plain, "each call changes penalty"),
    (lambda: Own(listing), call_plain, "each call changes kept"),
    (lambda: Own(buffered), call_plain, "writes into seen"),
    (TimeFirst, call_plain, "rows depend on each other"),
    (Recurrent, call_plain, "rows depend on each other"),
    (Compared, call_plain, "at once and"),
    (OfTheWhole, call_plain, "at once and"),
    (hooked, call_plain, "a hook of layers.0"),
    (stepping, call_plain, "optimizer in the backward pass"),
    (OfLists, call_list, "may be rows or not"),
    (Net, call_one, "it has one row"),
    (fused, call_language, "drawn inside the kernel"),
    (lambda: nn.DataParallel(Net(), device_ids=[0]), call_plain, "DataParallel"),
]


def refuse(make_model, call, words):
    torch.manual_seed(0)
    model = make_model().to("cuda").train()
    call(model)
    buffers = [one.clone() for one in model.buffers()]
    said = io.StringIO()
    with contextlib.redirect_stderr(said), failing.at_allocation(4):
        try:
            call(model)
            raise AssertionError(f"{words}: the call went through")
        except torch.OutOfMemoryError as error:
            assert "by headroom's allocator" in str(error)
    lines = [line for line in said.getvalue().splitlines() if line.startswith("headroom: ")]
    assert len(lines) == 1 and words in lines[0], (words, lines)
    assert all(one.grad is None and one.requires_grad for one in model.parameters())
    assert all((one == other).all() for one, other in zip(buffers, model.buffers())) or words == "BatchNorm"
    print(lines[0])


on_cpu.install()
for case in CASES if len(sys.argv) == 1 else [CASES[int(sys.argv[1])]]:
    refuse(*case)
