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
import tempfile

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
try:
    torch.cuda.is_current_stream_capturing()  # A Trainer's models ask it.
except RuntimeError as error:
    assert "no GPU: a stand-in" in str(error), error  # A text of the stand-in's, in an error of PyTorch's.
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
trainer = pathlib.Path(__file__).resolve().parent.parent / "faces" / "programs" / "ordinary_training.py"
with tempfile.TemporaryDirectory(prefix="headroom-environment-") as folder:
    for words in (["-c", PROGRAM], [trainer, "trainer", "cpu"]):
        run = subprocess.run([python, *words], timeout=600,
                             env={**os.environ, "HF_HUB_OFFLINE": "1", "TEST_FOLDER": folder})
        if run.returncode:
            print(f"expected exit 0 of {words[0]}, found {run.returncode}")
            sys.exit(1)
