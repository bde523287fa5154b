# SPDX-License-Identifier: Apache-2.0
"""An out of memory at every nth allocation of a Trainer's step: the gradients are those of the undisturbed step.

    split_sweep.py FIRST EVERY [CASE ...]     all cases if none is named
"""
import contextlib
import functools
import io
import random
import sys

import headroom_inject

headroom_inject.arrange()  # As sitecustomize does.

import torch  # noqa: E402

import failing  # noqa: E402
import on_cpu  # noqa: E402
import slots  # noqa: E402
import split_cases as cases  # noqa: E402

CHECKPOINTING = {"gradient_checkpointing": True, "gradient_checkpointing_kwargs": {"use_reentrant": False}}
# The model, whether labels are uneven or what kind each row's one is, whether the Trainer counts the step's labels, and the
# Trainer's arguments.
CASES = {
    "plain": (cases.gpt2, False, True, {}),
    "accumulation": (cases.gpt2, True, True, {"gradient_accumulation_steps": 2}),
    "accumulation without a count": (cases.gpt2, True, False, {"gradient_accumulation_steps": 2}),
    "uneven": (cases.gpt2, True, True, {}),
    "uneven without a count": (cases.gpt2, True, False, {}),
    "dropout": (functools.partial(cases.gpt2, 0.1), False, True, {}),
    "adapter": (cases.llama_with_adapter, True, True, CHECKPOINTING),
    "seven rows": (functools.partial(cases.gpt2, 0.1), True, False, {"per_device_train_batch_size": 7}),
    "noise": (cases.gpt2, True, True, {"neftune_noise_alpha": 5.0}),
    "masked": (cases.masked_bert, True, False, {}),
    "masked, counted": (cases.masked_bert, True, True, {}),
    "tokens": (cases.token_classifier, True, False, {}),
    "classes": (cases.classifier, int, False, {}),
    "classes, counted": (cases.classifier, int, True, {}),
    "pairs": (cases.classifier, int, False, {"per_device_train_batch_size": 2}),  # One of the first two does not count.
    "regression": (cases.regressor, float, True, {}),
}


def train(case, fail=None, again=None):
    """Returns the gradients, the loss, how many allocations the last step made, and whether it failed."""
    make_model, uneven, counts_items, arguments = CASES[case]
    torch.manual_seed(0)
    random.seed(0)
    data = cases.labelled_rows(16, uneven) if isinstance(uneven, type) else cases.rows(16, uneven)
    trainer, gradients = cases.make_trainer(make_model(), data, **arguments)
    trainer.model_accepts_loss_kwargs = counts_items
    last, step, seen = arguments.get("gradient_accumulation_steps", 1), trainer.training_step, {"calls": 0}

    def watched(*args):
        seen["calls"] += 1
        if seen["calls"] != last:
            return step(*args)
        before = slots.counts().allocations
        with failing.at_allocation(fail, again) if fail else contextlib.nullcontext(lambda: False) as has_failed:
            result = step(*args)
        seen["allocations"], seen["failed"] = slots.counts().allocations - before, has_failed()
        seen["random"] = torch.rand(1).item(), torch.rand(1, device="cuda").item(), random.random()
        return result

    trainer.training_step = watched
    with contextlib.redirect_stdout(io.StringIO()):
        loss = trainer.train().training_loss
    return gradients.found, loss, seen


def distance(found, expected):
    assert found.keys() == expected.keys()
    return max(((found[name] - one).norm() / one.norm().clamp_min(1e-12)).item() for name, one in expected.items())


def sweep(case, first, every):
    expected, loss, undisturbed = train(case)
    worst, ran = 0.0, 0
    for number in range(first, undisturbed["allocations"] + 1, every):
        # Every third time something fails later too, unless parts are single rows: in the check that comes before parts, or in a part.
        again = undisturbed["allocations"] * (1, 18)[ran % 2] // 3 if ran % 3 == 2 and case != "pairs" else None
        gradients, found_loss, seen = train(case, number, again)
        far = distance(gradients, expected)
        assert seen["failed"], f"nothing failed at {number}"
        assert far <= 1e-5, f"at {number}: a gradient is off by {far}"
        assert abs(found_loss - loss) <= 1e-5 * abs(loss), (number, found_loss, loss)
        assert seen["random"] == undisturbed["random"], f"at {number}: the random state is another one after the step"
        worst, ran = max(worst, far), ran + 1
    print(f"{case}: {ran} failures, of {undisturbed['allocations']} allocations; "
          f"worst relative difference of a gradient {worst:.1e}", flush=True)


on_cpu.install()
for name in sys.argv[3:] or CASES:
    sweep(name, int(sys.argv[1]), int(sys.argv[2]))
