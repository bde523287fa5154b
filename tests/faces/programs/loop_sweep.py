# SPDX-License-Identifier: Apache-2.0
"""An out of memory at every nth allocation of a step of a training loop: the gradients are those of the undisturbed step.

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


def train(case, fail=None):
    """Three steps without an optimizer; the second fails. Returns the gradients after it and after the third, the losses, how many
    allocations the second made, and whether it failed."""
    torch.manual_seed(0)
    random.seed(0)
    models, step = loop_cases.CASES[case]()
    losses, found, seen = [], [], {}
    for number in range(3):
        before = slots.counts().allocations
        failure = failing.at_allocation(fail) if fail and number == 1 else contextlib.nullcontext(lambda: False)
        with failure as has_failed:
            losses.append(step(number).item())
        if number == 1:
            seen = {"allocations": slots.counts().allocations - before, "failed": has_failed()}
        if number:
            found.append({f"{of}.{name}": one.grad.detach().clone() for of, model in models.items()
                          for name, one in model.named_parameters() if one.grad is not None})
    seen["random"] = torch.rand(1).item(), torch.rand(1, device="cuda").item(), random.random()
    return found, losses, seen


def distance(found, expected):
    assert found.keys() == expected.keys(), found.keys() ^ expected.keys()
    return max(((found[name] - one).norm() / one.norm().clamp_min(1e-12)).item() for name, one in expected.items())


def sweep(case, first, every):
    expected, losses, undisturbed = train(case)
    bound = 2e-2 if case in loop_cases.COARSE else 1e-5
    worst, ran, died = 0.0, 0, []
    for number in range(first, undisturbed["allocations"] + 1, every):
        ran += 1
        try:
            found, found_losses, seen = train(case, number)
        except torch.OutOfMemoryError:
            died.append(number)
            loop_cases.plain()[1](0)  # The next model begins as if nothing had been.
            continue
        far = max(map(distance, found, expected))
        assert seen["failed"], f"nothing failed at {number}"
        assert far <= bound, f"{case} at {number}: a gradient is off by {far}"
        assert all(abs(one - other) <= bound * abs(other) for one, other in zip(found_losses, losses)), (number, found_losses, losses)
        assert seen["random"] == undisturbed["random"], f"at {number}: the random state is another one after the step"
        worst = max(worst, far)
    print(f"{case}: {ran} failures, of {undisturbed['allocations']} allocations; "
          f"worst relative difference of a gradient {worst:.1e}; died {died}", flush=True)


on_cpu.install()
for name in sys.argv[3:] or loop_cases.CASES:
    sweep(name, int(sys.argv[1]), int(sys.argv[2]))
