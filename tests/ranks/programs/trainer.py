# SPDX-License-Identifier: Apache-2.0
"""An unmodified script of Hugging Face's Trainer, which names no backend. Prints "RANK BACKEND LOSSES" as JSON."""
import json
import os
import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

from told import tell

set_seed(0)
rows = [{"input_ids": row, "labels": row} for row in torch.randint(0, 100, (32, 16))]
model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=2, n_positions=32, bos_token_id=1, eos_token_id=2))
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(folder, per_device_train_batch_size=4, num_train_epochs=2, gradient_accumulation_steps=2,
                                  logging_steps=1, save_strategy="no", report_to=[], disable_tqdm=True, use_cpu=True)
    trainer = Trainer(model, arguments, train_dataset=rows)
    trainer.train()
losses = [one["loss"] for one in trainer.state.log_history if "loss" in one]
tell("result", json.dumps([int(os.environ["RANK"]), torch.distributed.get_backend(), losses]))
