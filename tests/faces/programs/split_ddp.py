# SPDX-License-Identifier: Apache-2.0
"""One of two processes runs out of memory in a step of DistributedDataParallel: it stops with the reason, and the other does too.

    torchrun --nproc-per-node 2 split_ddp.py ALLOCATION
"""
import os
import sys

import headroom_inject

headroom_inject.arrange()  # As sitecustomize does.

import torch  # noqa: E402

import failing  # noqa: E402
import on_cpu  # noqa: E402
import split_cases as cases  # noqa: E402

torch.manual_seed(0)
on_cpu.install()
trainer, _ = cases.make_trainer(cases.gpt2(), cases.rows(64), steps=2, ddp_backend="gloo", ddp_find_unused_parameters=False)
step = trainer.training_step


def watched(*args):
    with failing.at_allocation(int(sys.argv[1])):
        return step(*args)


if os.environ["RANK"] == "0" and sys.argv[1] != "0":
    trainer.training_step = watched
trainer.train()
print("trained", trainer.state.global_step, flush=True)
