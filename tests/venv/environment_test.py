#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The environment that `./dev venv` makes: PyTorch loads beside stand-ins for NVIDIA's libraries, finds no GPU, and
trains a small model through Hugging Face's libraries.

    environment_test.py SOURCE_FOLDER      exit 77: there is no such environment
"""
import os
import pathlib
import subprocess
import sys

PROGRAM = """
import torch
from accelerate import Accelerator
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

assert not torch.cuda.is_available() and torch.cuda.device_count() == 0
config = LlamaConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
                     num_key_value_heads=2, vocab_size=256)
model = get_peft_model(LlamaForCausalLM(config), LoraConfig(target_modules=["q_proj", "v_proj"], r=4))
trained = [tensor for tensor in model.parameters() if tensor.requires_grad]
model, optimizer = Accelerator(cpu=True).prepare(model, torch.optim.AdamW(trained, lr=1e-2))
torch.manual_seed(1)
tokens = torch.randint(0, 256, (2, 16))
losses = []
for _ in range(20):
    loss = model(input_ids=tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
assert losses[-1] < losses[0], losses
"""

python = pathlib.Path(sys.argv[1], "build", "venv", "bin", "python")
if not python.exists():
    print("there is no build/venv; ./dev venv makes it")
    sys.exit(77)
run = subprocess.run([python, "-c", PROGRAM], timeout=600, env={**os.environ, "HF_HUB_OFFLINE": "1"})
sys.exit(1 if run.returncode else 0)
