# SPDX-License-Identifier: Apache-2.0
"""Loops whose model's call is more than a function (loop_hostile_cases), with an out of memory at every nth allocation of the second
of four steps. Either the error comes to the script, or it trains what it would have trained; nothing in between.

    loop_hostile.py FIRST EVERY CASES [CASE ...]     prints, of each case, how often it was which; CASES: 2 takes every second one
"""
import contextlib
import gc
import random
import sys

import headroom_inject

headroom_inject.arrange()  # As sitecustomize does.

import torch  # noqa: E402

import failing  # noqa: E402
import loop_hostile_cases  # noqa: E402
import on_cpu  # noqa: E402
import slots  # noqa: E402

STEPS = 4


def settle():
    """An error that came to a script has its next call made by rows, whatever the model: this one's."""
    gc.collect()
    torch.nn.Linear(2, 2).to("cuda").train()(torch.zeros(2, 2, device="cuda"))


def train(case, failure=None, number=None):
    """The losses and the weights after the last step, how many allocations the second made, and whether one failed. None in their
    place: the error came to the script."""
    settle()
    torch.manual_seed(0)
    weights, loss_of = loop_hostile_cases.CASES[case]()
    optimizer = torch.optim.SGD(weights, 0.05, momentum=0.9)
    torch.manual_seed(1)
    random.seed(0)
    losses, allocations, has_failed = [], None, lambda: False
    try:
        for step in range(STEPS):
            before = slots.counts().allocations
            with failure(number) if failure and step == 1 else contextlib.nullcontext(lambda: False) as seen:
                optimizer.zero_grad()
                loss = loss_of(step)
                loss.backward()
            if step == 1:
                allocations, has_failed = slots.counts().allocations - before, seen
            optimizer.step()
            losses.append(loss.detach())
            del loss
    except torch.OutOfMemoryError:
        return None, allocations, True
    return torch.cat([torch.stack(losses), *(one.detach().flatten() for one in weights)]), allocations, has_failed()


def sweep(case, first, every):
    expected, allocations, _ = train(case)
    again, _, _ = train(case)
    assert (expected == again).all(), f"{case} is not the same twice"
    equal = refused = 0
    for failure in failing.full_at_allocation, failing.at_allocation:
        for number in range(first, allocations, every):
            found, _, _ = train(case, failure, number)
            if found is None:
                refused += 1
                continue
            far = ((found - expected).norm() / expected.norm()).item()
            assert far <= 1e-5, f"{case}, {failure.__name__} at {number}: what it trained is off by {far:.1e}"
            equal += 1
    print(f"{case}: {equal} the same, {refused} refused, of {allocations} allocations each", flush=True)


on_cpu.install()
for name in sys.argv[4:] or list(loop_hostile_cases.CASES)[::int(sys.argv[3])]:
    sweep(name, int(sys.argv[1]), int(sys.argv[2]))
