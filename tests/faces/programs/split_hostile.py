# SPDX-License-Identifier: Apache-2.0
"""Trainer scripts with more in them than a model and data, with an out of memory at some allocations of the second of four steps: those of
split_hostile_cases train what they would have trained, and log the same losses; those of split_refused_cases stop with the reason.

    split_hostile.py FAILURES EVERY [CASE ...]     FAILURES: how many places of the step; EVERY: 2 takes every second case
"""
import contextlib
import gc
import io
import random
import sys

import headroom_inject

headroom_inject.arrange()  # As sitecustomize does.

import numpy  # noqa: E402
import torch  # noqa: E402

import failing  # noqa: E402
import on_cpu  # noqa: E402
import slots  # noqa: E402
import split_hostile_cases  # noqa: E402
import split_refused_cases as refused  # noqa: E402
from headroom_inject import messages  # noqa: E402

CASES = {**split_hostile_cases.SAME, **{one.__name__: one for one in refused.CASES}}


def train(case, number=None):
    """What was trained as one tensor, less what it began as; the losses; the allocations of the second step; what headroom said.
    None for the first: an out of memory came to the script."""
    gc.collect()
    messages._said.clear()
    torch.manual_seed(0)
    random.seed(0)
    numpy.random.seed(0)
    trainer = CASES[case]()
    begun = [one.detach().clone() for one in trainer.model.parameters()]
    step, seen = type(trainer).training_step.__get__(trainer), {"calls": 0, "failed": False, "allocations": 0}
    second = 1 + trainer.args.gradient_accumulation_steps

    def watched(*args):
        seen["calls"] += 1
        if seen["calls"] != second:
            return step(*args)
        before = slots.counts().allocations
        with failing.at_allocation(number) if number else contextlib.nullcontext(lambda: False) as has_failed:
            try:
                return step(*args)
            finally:
                seen.update(failed=has_failed(), allocations=slots.counts().allocations - before)

    trainer.training_step = watched
    said = io.StringIO()
    trained = None
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said), contextlib.suppress(torch.OutOfMemoryError):
        result = trainer.train()
        ended = [*trainer.model.parameters(), *getattr(trainer, "beside", {}).values()]
        trained = torch.cat([one.detach().float().flatten().cpu() for one in ended])
        trained[:sum(one.numel() for one in begun)] -= torch.cat([one.flatten().float().cpu() for one in begun])
    seen["losses"] = trained is not None and [result.training_loss, *(entry["loss"] for entry in trainer.state.log_history if "loss" in entry)]
    seen["said"] = [line for line in said.getvalue().splitlines() if line.startswith("headroom: ")]
    refused.forget_attention()
    return trained, seen


def sweep(case, failures):
    expected, undisturbed = train(case)
    assert expected is not None and not undisturbed["said"], (case, undisturbed)
    words = next((text for one, text in refused.CASES.items() if one.__name__ == case), None)
    worst, total = 0.0, undisturbed["allocations"]
    for number in sorted({max(1, total * (2 * place + 1) // (2 * failures)) for place in range(failures)}):
        found, seen = train(case, number)
        where = f"{case} at {number} of {total}"
        assert seen["failed"], f"{where}: nothing failed"
        if words is not None:
            assert found is None, f"{where}: it was split, off by {((found - expected).norm() / expected.norm()).item():.1e}: {seen['said']}"
            assert len(seen["said"]) == 1 and words in seen["said"][0], (where, seen["said"])
            continue
        assert found is not None and any("was split in" in line for line in seen["said"]), (where, seen["said"])
        far = ((found - expected).norm() / expected.norm()).item()
        worst = max(worst, far)
        assert far <= 3e-5, f"{where}: what it trained is off by {far:.1e}"
        assert len(seen["losses"]) == len(undisturbed["losses"])
        assert all(abs(one - other) <= 1e-4 * abs(other) for one, other in zip(seen["losses"], undisturbed["losses"])), (where, seen["losses"], undisturbed["losses"])
    print(f"{case}: {f'the same, worst {worst:.1e}' if words is None else 'refused: ' + seen['said'][0][10:]}", flush=True)


on_cpu.install()
failed = []
for name in sys.argv[3:] or list(CASES)[::int(sys.argv[2])]:
    try:
        sweep(name, int(sys.argv[1]))
    except Exception as error:  # All are tried; what failed is told at the end.
        failed.append(f"{name}: {type(error).__name__}: {error}")
        print("FAILED", failed[-1], flush=True)
assert not failed, "\n".join(failed)
