# SPDX-License-Identifier: Apache-2.0
"""An ordinary script with Hugging Face's Trainer: a GPT-2 with dropout whose saved activations take most of the memory.

    split.py
"""
import torch

import split_cases as cases

VOCABULARY, LENGTH = 8192, 512
torch.manual_seed(0)  # PyTorch's own first seed is another one in each process, and so are the weights that are drawn here.
model = cases.GPT2LMHeadModel(cases.GPT2Config(n_layer=6, n_head=8, n_embd=512, vocab_size=VOCABULARY, n_positions=LENGTH, bos_token_id=0,
                                               eos_token_id=0, attn_implementation="eager"))
trainer, _ = cases.make_trainer(model, cases.rows(64, length=LENGTH, vocabulary=VOCABULARY), steps=5, learning_rate=1e-3, max_grad_norm=1.0)
loss = trainer.train().training_loss
weights = sum(one.detach().double().abs().sum().item() for one in model.parameters())
print("peak", torch.cuda.max_memory_allocated())
print(f"loss {loss:.6f} weights {weights:.3f}", flush=True)
