# SPDX-License-Identifier: Apache-2.0
"""A small Llama is trained on the CPU and on the GPU with headroom's allocator: losses and weights are equal to the last bit."""
import torch
from transformers import LlamaConfig, LlamaForCausalLM

import on_cpu
import slots

STEPS = 6


def train(device):
    torch.manual_seed(1)
    # Eager attention: the CPU's fused kernel rounds otherwise than the operations that stand in for a GPU's.
    model = LlamaForCausalLM(LlamaConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
                                         num_key_value_heads=2, vocab_size=256,
                                         attn_implementation="eager")).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for step in range(STEPS):
        tokens = torch.randint(0, 256, (2, 12 + 5 * step), generator=torch.Generator().manual_seed(step)).to(device)
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses, [parameter.detach().cpu() for parameter in model.parameters()]


slots.install()  # Before anything initialises CUDA, which a seed does.
expected, weights = train("cpu")
mode = on_cpu.install()
found, trained = train("cuda")
assert found == expected, (found, expected)
assert all(torch.equal(a, b) for a, b in zip(weights, trained, strict=True))
counts = slots.counts()
assert counts.allocations > 1000 and counts.foreign_frees == 0, counts.allocations
if hasattr(torch.accelerator, "memory_allocated"):  # Since 2.9.
    assert torch.accelerator.max_memory_allocated() == torch.cuda.max_memory_allocated() > 0
print("allocations", counts.allocations, "loss", found[-1])
