# SPDX-License-Identifier: Apache-2.0
"""A training that MemoryCallback watches: watched.py fits|fails|unplanned."""
import sys

import torch

import on_cpu
import split_cases as cases
from headroom.trainer import MemoryCallback

on_cpu.install()
torch.manual_seed(0)
kind = sys.argv[1]
model = cases.gpt2() if kind == "unplanned" else cases.llama_with_adapter()
trainer, _ = cases.make_trainer(model, cases.rows(16), steps=2, learning_rate=1e-3)
memory = MemoryCallback(sequence=None if kind == "unplanned" else cases.LENGTH)
trainer.add_callback(memory)


class Fails(torch.nn.Module):
    def forward(self, *_, **__):
        # The logits of a batch in fp32, as PyTorch says that they did not fit.
        size = cases.ROWS * cases.LENGTH * cases.VOCABULARY * 4 / 1024
        raise torch.OutOfMemoryError(f"CUDA out of memory. Tried to allocate {size:.2f} KiB. GPU 0 has a total capacity of 1 GiB")


try:
    with memory:
        if kind == "fails":
            model.base_model.model.lm_head = Fails()
        trainer.train()
except torch.OutOfMemoryError:
    print("out of memory goes on")
print("planned", memory.planned and memory.planned["schema"])
print("measured", memory.measured_bytes)
print("explained", memory.explanation and [match["shape"] for match in memory.explanation["matches"]])
