# SPDX-License-Identifier: Apache-2.0
"""An out of memory at every nth allocation of a step of a training loop: the gradients are those of the undisturbed step. In two
ways: the GPU is full until an allocation has failed, which never comes to the script; and an operation that fails by itself, which
headroom's reserve cannot help, so that the script begins again if that was in its loss.

    loop_sweep.py FIRST EVERY [CASE ...]     all cases if none is named
"""
import contextlib
import random
import sys

import headroom_inject

headroom_inject.arrange()  # As sitecustomize does.

import torch  # noqa: E402

import failing  # noqa: E402
import loop_cases  # noqa: E402
import on_cpu  # noqa: E402
import slots  # noqa: E402


def train(case, failure=None, fail=None):
    """Three steps without an optimizer; the second one fails. If the error comes to the script, it drops the gradients and begins
    again. Returns the gradients after the second and the third, the losses, and what else was seen."""
    torch.manual_seed(0)
    models, step = loop_cases.CASES[case]()
    named = {f"{of}.{name}": one for of, model in models.items() for name, one in model.named_parameters()}
    seen = {"again": False}
    while True:
        torch.manual_seed(1)
        random.seed(0)
        losses, found = [], []
        try:
            for number in range(3):
                before = slots.counts().allocations
                fails = failure and number == 1 and not seen["again"]
                with failure(fail) if fails else contextlib.nullcontext(lambda: None) as has_failed:
                    losses.append(step(number).item())
                seen |= {"allocations": slots.counts().allocations - before} if number == 1 else {}
                seen |= {"failed": has_failed()} if fails else {}
                if number:
                    found.append({name: one.grad.detach().clone() for name, one in named.items() if one.grad is not None})
            seen["random"] = torch.rand(1).item(), torch.rand(1, device="cuda").item(), random.random()
            return found, losses, seen
        except torch.OutOfMemoryError:
            seen |= {"again": True, "failed": True}
            for one in named.values():
                one.grad = None


def distance(found, expected):
    assert found.keys() == expected.keys(), found.keys() ^ expected.keys()
    return max(((found[name] - one).norm() / one.norm().clamp_min(1e-12)).item() for name, one in expected.items())


def sweep(case, first, every, failure):
    expected, losses, undisturbed = train(case)
    bound = 2e-2 if case in loop_cases.COARSE else 1e-5
    worst, ran, again, idle = 0.0, 0, 0, 0
    for number in range(first, undisturbed["allocations"], every):
        found, found_losses, seen = train(case, failure, number)
        far = max(map(distance, found, expected))
        idle += not seen["failed"]  # What was free by then was enough for the rest.
        assert far <= bound, f"{case} at {number}: a gradient is off by {far}"
        assert all(abs(one - other) <= bound * abs(other) for one, other in zip(found_losses, losses)), (number, found_losses, losses)
        assert seen["random"] == undisturbed["random"], f"{case} at {number}: the random state is another one after the steps"
        worst, ran, again = max(worst, far), ran + 1, again + seen["again"]
    assert idle <= 1, f"{case}: nothing failed at {idle} places"
    assert failure is not failing.full_at_allocation or not again, f"{case}: {again} errors came to the script"
    print(f"{case}, {failure.__name__}: {ran} failures, of {undisturbed['allocations']} allocations, {again} came to the script; "
          f"worst relative difference of a gradient {worst:.1e}", flush=True)


on_cpu.install()
for name in sys.argv[3:] or loop_cases.CASES:
    for kind in failing.full_at_allocation, failing.at_allocation:
        sweep(name, int(sys.argv[1]), int(sys.argv[2]), kind)
