# SPDX-License-Identifier: Apache-2.0
"""Ordinary scripts with Hugging Face's Trainer, which know nothing of headroom. Without dropout.

    ordinary_training.py trainer|lora cpu|gpu

Prints the loss and a fingerprint of all weights, to the last bit; on the GPU also what PyTorch says of its memory.
"""
import hashlib
import sys

import torch

import on_cpu
import split_cases as cases

kind, device = sys.argv[1:]
if device == "gpu":
    on_cpu.install()
torch.manual_seed(0)
model = cases.gpt2() if kind == "trainer" else cases.llama_with_adapter()
for module in model.modules():  # No dropout: the CPU and the GPU draw from generators of their own.
    if isinstance(module, torch.nn.Dropout):
        module.p = 0.0
    elif hasattr(module, "attention_dropout"):
        module.attention_dropout = 0.0
passes = []
next(one for name, one in model.named_modules() if name.endswith("mlp")).register_forward_pre_hook(lambda *_: passes.append(1))
trainer, _ = cases.make_trainer(model, cases.rows(64, uneven=True), steps=8, learning_rate=1e-3, use_cpu=device == "cpu",
                                gradient_checkpointing=kind == "lora",
                                gradient_checkpointing_kwargs={"use_reentrant": False} if kind == "lora" else None)
loss = trainer.train().training_loss
assert len(passes) == (16 if kind == "lora" else 8), len(passes)  # A second one where checkpointing computes again.
fingerprint = hashlib.sha256()
for parameter in model.parameters():
    fingerprint.update(parameter.detach().cpu().contiguous().numpy().tobytes())
print(f"loss {loss!r} weights {fingerprint.hexdigest()}")
if device == "gpu":
    print("memory", torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated(), torch.cuda.memory_reserved())
