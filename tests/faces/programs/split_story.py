# SPDX-License-Identifier: Apache-2.0
"""An ordinary script: five steps of a small GPT-2 with dropout. It knows nothing of headroom.

    split_story.py [auto]     auto: accelerate looks for a batch size
"""
import sys

import split_cases as cases

model = cases.GPT2LMHeadModel(cases.GPT2Config(n_layer=2, n_head=2, n_embd=64, vocab_size=512, n_positions=64, bos_token_id=0,
                                               eos_token_id=0, attn_implementation="eager"))
trainer, _ = cases.make_trainer(model, cases.rows(64, length=32, vocabulary=512), steps=5, learning_rate=1e-3, auto_find_batch_size="auto" in sys.argv,
                                logging_steps=1, max_grad_norm=1.0)
result = trainer.train()
weights = sum(one.detach().double().abs().sum().item() for one in model.parameters())
print(f"loss {result.training_loss:.6f} weights {weights:.6f}")
import torch  # noqa: E402

print("peak", torch.cuda.max_memory_allocated())
