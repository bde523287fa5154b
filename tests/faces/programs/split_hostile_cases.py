# SPDX-License-Identifier: Apache-2.0
"""Trainer scripts as people write them, with more in them than a model and data: callbacks, collators, optimizers, adapters, functions of
their own. A case makes everything anew and returns its Trainer, whose steps are to be split."""
import functools

import peft
import torch
import transformers
from torch.nn import functional
from transformers import Trainer, TrainerCallback

import split_cases as cases

CHECKPOINTING = {"gradient_checkpointing": True, "gradient_checkpointing_kwargs": {"use_reentrant": False}}


def on(model, data=None, *callbacks, **arguments):
    """A Trainer of four steps with SGD, so that what is trained shows how far gradients were off."""
    given = {"optim": "sgd", "learning_rate": 0.05, "lr_scheduler_type": "constant", "optim_args": "momentum=0.9", **arguments}
    extra = {name: given.pop(name) for name in ("eval_dataset", "data_collator", "optimizers") if name in given}
    trainer, _ = cases.make_trainer(model, data or cases.rows(64, True), functools.partial(given.pop("kind", Trainer), **extra), 4, **given)
    for one in callbacks:
        trainer.add_callback(one)
    return trainer


def callback(**actions):
    """One with these methods; `model` is what they are given."""
    def method(action):
        return lambda self, args, state, control, model=None, **more: action(model, state)
    return type("Callback", (TrainerCallback,), {name: method(action) for name, action in actions.items()})()


def _normalise(model, _):
    for one in model.parameters():
        if one.grad is not None:
            one.grad.div_(one.grad.norm() + 1)


def gradients_touched_between():
    return on(cases.gpt2(0.1), None, callback(on_pre_optimizer_step=_normalise, on_substep_end=_normalise), gradient_accumulation_steps=2)


def untied_groups_with_decay():
    model = cases.gpt2(0.1)
    groups = [{"params": [one for one in model.parameters() if one.dim() > 1], "weight_decay": 0.1},
              {"params": [one for one in model.parameters() if one.dim() < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.SGD(groups, 0.05, momentum=0.9)
    return on(model, optimizers=(optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)))


class SignOfItsOwn(torch.optim.Optimizer):
    """Lion-like, softened: a small difference stays small."""

    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 1.0})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for one in group["params"]:
                if one.grad is not None:
                    one.sub_(torch.tanh(20 * one.grad), alpha=0.01)


def an_optimizer_of_its_own():
    model = cases.gpt2(0.1)
    optimizer = SignOfItsOwn(model.parameters())
    return on(model, optimizers=(optimizer, torch.optim.lr_scheduler.ConstantLR(optimizer)))


def with_more(rows, **more):
    batch = transformers.default_data_collator(rows)
    batch.update(more)
    batch["number"] = torch.arange(len(rows))
    return batch


def a_collator_with_more_keys():
    collate = functools.partial(with_more, temperature=torch.tensor(2.0), epoch=3, origin="web")
    return on(cases.llama(), data_collator=collate)


def evaluated_in_between():
    return on(cases.gpt2(0.1), eval_dataset=cases.rows(8), eval_strategy="steps", eval_steps=1, logging_steps=1)


def an_average_of_weights():
    model, averages = cases.gpt2(0.1), {}

    def average(trained, _):
        for name, one in trained.named_parameters():
            averages[name] = one.detach().clone() if name not in averages else averages[name].lerp_(one.detach(), 0.5)
    trainer = on(model, None, callback(on_step_end=average))
    trainer.beside = averages
    return trainer


def generation_in_between():
    def generate(model, _):
        tokens = torch.arange(8, device=model.device).reshape(2, 4)
        model.generate(tokens, max_new_tokens=2, do_sample=True, pad_token_id=0)
    return on(cases.gpt2(0.1), None, callback(on_step_begin=generate, on_step_end=generate))


def _pad(rows):
    longest = max(len(row["input_ids"]) for row in rows)

    def padded(name, value):
        return torch.stack([functional.pad(row[name], (0, longest - len(row[name])), value=value) for row in rows])
    return {"input_ids": padded("input_ids", 0), "labels": padded("labels", -100),
            "attention_mask": padded("attention_mask", 0)}


def lengths_grouped():
    data = [{name: one[:6 + 3 * number % 11] for name, one in row.items()} for number, row in enumerate(cases.rows(64))]
    for row in data:
        row["attention_mask"] = torch.ones_like(row["input_ids"])
    return on(cases.gpt2(0.1), data, data_collator=_pad, train_sampling_strategy="group_by_length")


def noise_and_checkpoints():
    return on(cases.gpt2(0.1), neftune_noise_alpha=5.0, **CHECKPOINTING)


def more_outputs():
    model = cases.gpt2(0.1)
    model.config.output_hidden_states = model.config.output_attentions = True
    return on(model)


def several_rows_in_one():
    """Packed: positions begin anew within a row."""
    data = cases.rows(64)
    for number, row in enumerate(data):
        first = 3 + number % 9
        row["position_ids"] = torch.cat([torch.arange(first), torch.arange(cases.LENGTH - first)])
        row["labels"][first] = -100
    return on(cases.llama(), data)


def layers_frozen_by_turns():
    def freeze(model, state):
        for number, layer in enumerate(model.transformer.h):
            layer.requires_grad_(number % 2 == state.global_step % 2)
    return on(cases.gpt2(0.1), None, callback(on_step_begin=freeze))


class Adversarial(Trainer):
    """A second pass with embeddings moved, as adversarial training does. What moves them allocates nothing: an error there is the script's."""

    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = super().training_step(model, inputs, num_items_in_batch)
        weight = model.get_input_embeddings().weight
        with torch.no_grad():
            weight.add_(1e-3)
        super().training_step(model, inputs, num_items_in_batch)
        with torch.no_grad():
            weight.sub_(1e-3)
        return loss


def two_passes():
    return on(cases.gpt2(0.1), kind=Adversarial)


def losses_logged():
    return on(cases.gpt2(0.1), logging_steps=1, max_grad_norm=0.5, gradient_accumulation_steps=2)


def adapted(config, **more):
    return on(peft.get_peft_model(cases.llama(), config), **more)


def lora_by_directions():
    return adapted(peft.LoraConfig(r=4, target_modules=["q_proj", "up_proj"], lora_dropout=0.1, init_lora_weights=False, use_dora=True,
                                    task_type="CAUSAL_LM"))


def a_head_trained_whole():
    return adapted(peft.LoraConfig(r=4, target_modules=["q_proj"], modules_to_save=["lm_head"], init_lora_weights=False,
                                    task_type="CAUSAL_LM"))


def scaled_activations():
    return adapted(peft.IA3Config(target_modules=["k_proj", "down_proj"], feedforward_modules=["down_proj"], task_type="CAUSAL_LM"), learning_rate=5.0)


def adapters_dropped_by_row_pairs():
    """Whole adapters are switched off by a draw that all rows share; parts are of one row."""
    return adapted(peft.LoHaConfig(r=4, target_modules=["q_proj", "v_proj", "up_proj"], module_dropout=0.5, init_weights=False,
                                    task_type="CAUSAL_LM"), per_device_train_batch_size=2)


def classes_of_whole_numbers():
    """A regression whose labels are whole numbers, some of them -100."""
    data = cases.labelled_rows(64, float)
    for number, row in enumerate(data):
        row["labels"] = torch.tensor(number % 3 - 100 * (number % 5 == 0), dtype=torch.float32)
    return on(cases.regressor(), data, learning_rate=1e-4)


def activations_kept_elsewhere():
    trainer = on(cases.gpt2(0.1))
    train = trainer.train

    def with_offload():
        with torch.autograd.graph.saved_tensors_hooks(lambda one: one * 1, lambda one: one):
            return train()
    trainer.train = with_offload
    return trainer


def columns_removed():
    data = cases.rows(64, True)
    for row in data:
        row["name"] = "text"
    return on(cases.gpt2(0.1), data, remove_unused_columns=True)


SAME = {one.__name__: one for one in (
    gradients_touched_between, untied_groups_with_decay, an_optimizer_of_its_own, a_collator_with_more_keys, evaluated_in_between,
    an_average_of_weights, generation_in_between, lengths_grouped, noise_and_checkpoints, more_outputs, several_rows_in_one,
    layers_frozen_by_turns, two_passes, losses_logged, lora_by_directions, a_head_trained_whole, scaled_activations,
    adapters_dropped_by_row_pairs, classes_of_whole_numbers, activations_kept_elsewhere, columns_removed)}
