# SPDX-License-Identifier: Apache-2.0
"""Training loops like those of loop_hostile_cases, whose models are made of known libraries' modules alone: what is more than a function
lies around the model's call."""
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

import split_cases
from loop_cases import DEVICE, ROWS, WIDTH, numbers


def sequential(dropout=0.2, **more):
    return nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Dropout(dropout), nn.Linear(2 * WIDTH, WIDTH, **more)).to(DEVICE).train()


def batch(number):
    return numbers(number, ROWS, WIDTH)


def squares(found):
    return (found - 1).square().mean()


def known_evaluated_between():
    model = sequential()

    def loss(number):
        model.train()
        found = squares(model(batch(number)))
        model.eval()
        return found
    return list(model.parameters()), loss


def known_layer_changed_between():
    model = sequential()

    def loss(number):
        model[1] = nn.GELU()
        found = squares(model(batch(number)))
        model[1] = nn.Tanh()
        return found
    return list(model.parameters()), loss


def known_slope_changed_between():
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.LeakyReLU(0.1), nn.Linear(WIDTH, WIDTH)).to(DEVICE)

    def loss(number):
        model[1].negative_slope = 0.1
        found = squares(model(batch(number)))
        model[1].negative_slope = 0.5
        return found
    return list(model.parameters()), loss


def known_weights_moved_between():
    """By their data, which PyTorch does not count."""
    model = sequential()

    def loss(number):
        found = squares(model(batch(number)))
        model[0].weight.data.mul_(1.001)
        return found
    return list(model.parameters()), loss


def known_output_hooked():
    model = sequential()

    def loss(number):
        found = model(batch(number))
        found.register_hook(lambda grad: grad / grad.norm())
        return squares(found)
    return list(model.parameters()), loss


def known_gradients_hooked_late():
    model = sequential()

    def loss(number):
        found = squares(model(batch(number)))
        if number == 0:
            model[0].weight.register_hook(lambda grad: grad / grad.norm())
        return found
    return list(model.parameters()), loss


def known_output_written_to():
    model = sequential()

    def loss(number):
        found = model(batch(number))
        found.mul_(2)[:2] = 0
        return squares(found)
    return list(model.parameters()), loss


def known_layer_shared():
    shared = nn.Linear(WIDTH, WIDTH).to(DEVICE)
    one, other = nn.Sequential(shared, nn.GELU()), nn.Sequential(nn.Dropout(0.1), shared)
    return list(shared.parameters()), lambda number: squares(other(one(batch(number))))


def known_time_first():
    model = nn.TransformerEncoderLayer(WIDTH, 2, WIDTH, dropout=0.0).to(DEVICE)
    return list(model.parameters()), lambda number: squares(model(numbers(number, ROWS, 3, WIDTH)))


def known_seed_between():
    model = sequential()

    def loss(number):
        torch.manual_seed(number)
        found = squares(model(batch(number)))
        torch.manual_seed(number + 7)
        return found
    return list(model.parameters()), loss


def known_checkpoint_around():
    model = sequential()
    return list(model.parameters()), lambda number: squares(checkpoint(model, batch(number), use_reentrant=False))


def known_slope_penalised():
    model = sequential(0.0)

    def loss(number):
        x = batch(number).requires_grad_()
        found = model(x)
        slope, = torch.autograd.grad(found.sum(), x, create_graph=True)
        return squares(found) + slope.square().mean()
    return list(model.parameters()), loss


def known_embedding_renormed():
    model = nn.Sequential(nn.Embedding(50, WIDTH, max_norm=1.0), nn.Linear(WIDTH, WIDTH)).to(DEVICE)

    def loss(number):
        tokens = torch.randint(0, 50, (ROWS, 5), generator=torch.Generator().manual_seed(number)).to(DEVICE)
        return squares(model(tokens))
    return list(model.parameters()), loss


def known_frequencies():
    model = nn.Sequential(nn.Embedding(50, WIDTH, scale_grad_by_freq=True), nn.Linear(WIDTH, WIDTH)).to(DEVICE)

    def loss(number):
        tokens = torch.randint(0, 9, (ROWS, 5), generator=torch.Generator().manual_seed(number)).to(DEVICE)
        return squares(model(tokens))
    return list(model.parameters()), loss


def known_adapter_chosen():
    from peft import LoraConfig
    model = split_cases.llama_with_adapter()
    model.add_adapter("other", LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False, task_type="CAUSAL_LM"))
    model.to(DEVICE).train()
    trained = [one for name, one in model.named_parameters() if "lora" in name]
    data = split_cases.rows(ROWS)
    tokens = torch.stack([row["input_ids"] for row in data]).to(DEVICE)

    def loss(_):
        model.set_adapter("default")
        one = model(input_ids=tokens).logits
        model.set_adapter("other")
        for each in trained:
            each.requires_grad_(True)
        return squares(one) + squares(model(input_ids=tokens[:, :3]).logits)
    return trained, loss


def known_language_model_and_penalty():
    model = split_cases.gpt2(0.1).to(DEVICE).train()
    data = split_cases.rows(ROWS)
    tokens = torch.stack([row["input_ids"] for row in data]).to(DEVICE)

    def loss(_):
        found = model(input_ids=tokens, labels=tokens, output_hidden_states=True)
        return found.loss + 0.1 * functional.normalize(found.hidden_states[1].flatten(1), dim=1).std(dim=0).sum()
    return list(model.parameters()), loss


CASES = {one.__name__: one for one in (
    known_evaluated_between, known_layer_changed_between, known_slope_changed_between, known_weights_moved_between, known_output_hooked,
    known_gradients_hooked_late, known_output_written_to, known_layer_shared, known_time_first, known_seed_between,
    known_checkpoint_around, known_slope_penalised, known_embedding_renormed, known_frequencies, known_adapter_chosen,
    known_language_model_and_penalty)}
