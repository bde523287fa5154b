# SPDX-License-Identifier: Apache-2.0
"""An ordinary script: five steps of a small GPT-2 with dropout, in accelerate's loop. It knows nothing of headroom.

    loop_story.py [own]     own: the loss is computed by the script, not by the model
"""
import sys

import torch
from accelerate import Accelerator
from torch.nn import functional

import split_cases as cases

accelerator = Accelerator()
model = cases.GPT2LMHeadModel(cases.GPT2Config(n_layer=2, n_head=2, n_embd=64, vocab_size=512, n_positions=64, bos_token_id=0,
                                               eos_token_id=0, attn_implementation="eager"))
loader = torch.utils.data.DataLoader(cases.rows(40, True, length=32, vocabulary=512), batch_size=8)
model, optimizer, loader = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), 1e-3), loader)
losses = []
for batch in loader:
    optimizer.zero_grad()
    if "own" in sys.argv:
        logits = model(input_ids=batch["input_ids"]).logits
        loss = functional.cross_entropy(logits[:, :-1].flatten(0, 1), batch["labels"][:, 1:].flatten())
    else:
        loss = model(**batch).loss
    accelerator.backward(loss)
    optimizer.step()
    losses.append(loss.item())
weights = sum(one.detach().double().abs().sum().item() for one in model.parameters())
print(f"loss {sum(losses) / len(losses):.6f} weights {weights:.6f}")
print("peak", torch.cuda.max_memory_allocated())
