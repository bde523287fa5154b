# SPDX-License-Identifier: Apache-2.0
"""A script that asks for headroom's allocator itself, trains with it, and runs out of memory."""
import sys

import headroom.allocator

headroom.allocator.install(split=sys.argv[1])
headroom.allocator.install()  # A second call changes nothing.

import torch  # noqa: E402  (after the allocator, as people are told)

import on_cpu  # noqa: E402
import split_cases as cases  # noqa: E402

print("backend", torch.cuda.memory.get_allocator_backend())
on_cpu.install()
torch.manual_seed(0)
trainer, _ = cases.make_trainer(cases.gpt2(), cases.rows(16), steps=2, learning_rate=1e-3)
trainer.train()
print("reserved", torch.cuda.memory_reserved() >= torch.cuda.memory_allocated() > 0)
try:
    torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError as error:
    print("headroom's" if "by headroom's allocator" in str(error) else str(error))
