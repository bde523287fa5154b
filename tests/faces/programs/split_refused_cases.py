# SPDX-License-Identifier: Apache-2.0
"""Trainer scripts like those of split_hostile_cases in which parts of a batch would train something else: what is not to be split, with words
of the reason."""
import functools

import peft
import torch
import transformers
from torch.nn import functional
from transformers import Trainer

import split_cases as cases
from split_hostile_cases import adapted, callback, on, with_more


def a_hook_on_a_gradient():
    model = cases.gpt2()
    model.transformer.wte.weight.register_hook(lambda grad: grad / grad.norm())
    return on(model)


def a_hook_where_a_gradient_is_added():
    kept = []

    def register(model, _):
        kept.append(torch.autograd.graph.get_gradient_edge(model.transformer.wte.weight).node)
        kept[0].register_prehook(lambda grads: (grads[0] / grads[0].norm(),))
    return on(cases.gpt2(), None, callback(on_train_begin=register))


def a_backward_around_accelerates():
    trainer = on(cases.gpt2())
    backward = trainer.accelerator.backward

    def clipped(loss, **more):
        backward(loss, **more)
        torch.nn.utils.clip_grad_norm_(trainer.model.parameters(), 0.01)
    trainer.accelerator.backward = clipped
    return trainer


class Rolling(Trainer):
    """Every row gets its neighbour's first tokens."""

    def _prepare_inputs(self, inputs):
        inputs = super()._prepare_inputs(inputs)
        tokens = inputs["input_ids"]
        return {**inputs, "input_ids": torch.cat([tokens.roll(1, 0)[:, :4], tokens[:, 4:]], dim=1)}


def inputs_prepared_over_the_batch():
    return on(cases.gpt2(), kind=Rolling)


class Replaced:
    """What a library has, replaced until the Trainer has trained."""

    def __init__(self, owner, name, value):
        self.owner, self.name, self.value = owner, name, value

    def around(self, trainer):
        train = trainer.train

        def replaced():
            before = getattr(self.owner, self.name)
            setattr(self.owner, self.name, self.value)
            try:
                return train()
            finally:
                setattr(self.owner, self.name, before)
        trainer.train = replaced
        return trainer


def a_forward_around_the_librarys():
    kind = type(cases.gpt2().transformer.h[0].mlp)
    forward = kind.forward

    @functools.wraps(forward)
    def normed(self, *args):
        found = forward(self, *args)
        return found * found.numel() ** 0.5 / found.norm()
    return Replaced(kind, "forward", normed).around(on(cases.gpt2()))


def a_forward_of_torchs_replaced():
    forward = torch.nn.Linear.forward

    @functools.wraps(forward)
    def centred(self, x):
        return forward(self, x - 0.1 * x.mean(dim=0, keepdim=True))
    return Replaced(torch.nn.Linear, "forward", centred).around(on(cases.llama()))


def a_function_of_the_models_replaced():
    from transformers.models.llama import modeling_llama
    before = modeling_llama.apply_rotary_pos_emb

    def scaled(query, key, *args, **more):
        query, key = before(query, key, *args, **more)
        return query / query.norm(), key
    return Replaced(modeling_llama, "apply_rotary_pos_emb", scaled).around(on(cases.llama()))


def a_loss_function_of_torchs_replaced():
    before = functional.cross_entropy

    @functools.wraps(before)
    def squared(*args, **more):
        return before(*args, **more).square()
    return Replaced(functional, "cross_entropy", squared).around(on(cases.gpt2(), learning_rate=1e-3))


def a_loss_around_the_librarys():
    model = cases.gpt2()
    before = model.loss_function

    @functools.wraps(before)
    def squared(*args, **more):
        return before(*args, **more).square()
    model.loss_function = squared
    return on(model)


def a_loss_of_the_class_replaced():
    before = Trainer.compute_loss

    @functools.wraps(before)
    def with_penalty(self, model, *args, **more):
        loss = before(self, model, *args, **more)
        return loss / loss.detach().sqrt()
    return Replaced(Trainer, "compute_loss", with_penalty).around(on(cases.gpt2()))


def another_label_that_does_not_count():
    data = cases.rows(64)
    for number, row in enumerate(data):
        row["labels"][:number % 9] = 0
    return on(cases.llama(), data, data_collator=lambda rows: {**transformers.default_data_collator(rows), "ignore_index": 0})


def attention_of_its_own():
    from transformers.models.llama import modeling_llama

    def attention(module, query, key, value, mask, **more):
        found, weights = modeling_llama.eager_attention_forward(module, query, key, value, mask, **more)
        return found - 0.1 * found.mean(dim=0, keepdim=True), weights
    transformers.AttentionInterface.register("centred", attention)
    transformers.AttentionMaskInterface.register("centred", transformers.masking_utils.eager_mask)
    model = cases.llama()
    model.config.attention_dropout = 0.0
    for layer in model.model.layers:
        layer.self_attn.attention_dropout = 0.0
    model.set_attn_implementation("centred")
    return on(model)


def forget_attention():
    for interface in transformers.AttentionInterface, transformers.AttentionMaskInterface:
        interface._global_mapping.pop("centred", None)


def gradients_by_frequency():
    model = cases.llama()
    model.get_input_embeddings().scale_grad_by_freq = True
    return on(model)


def ranks_dropped():
    """A draw for each of 32 features; parts have 32 rows."""
    return adapted(peft.LoHaConfig(r=4, target_modules=["q_proj"], rank_dropout=0.3, init_weights=False, task_type="CAUSAL_LM"),
                    per_device_train_batch_size=64)


def frequencies_that_depend_on_the_longest():
    """One row of eight has positions beyond those that the model was made for."""
    rope = {"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0] * 4, "long_factor": [2.0, 3.0, 4.0, 5.0],
            "original_max_position_embeddings": 20, "factor": 4.0}
    data = cases.rows(64)
    for number, row in enumerate(data):
        row["position_ids"] = torch.arange(cases.LENGTH) + (20 if number % 8 == 7 else 0)
    return on(cases.llama(rope_parameters=rope, max_position_embeddings=80), data)


def entries_of_text():
    return on(cases.llama(), data_collator=lambda rows: with_more(rows, texts=["text"] * len(rows)))


def smoothed_labels():
    return on(cases.gpt2(), label_smoothing_factor=0.1)


def reentrant_checkpoints():
    return on(cases.gpt2(), gradient_checkpointing=True, gradient_checkpointing_kwargs={"use_reentrant": True})


def ranks_that_are_chosen():
    """AdaLoRA adds a penalty of its own to the loss."""
    return adapted(peft.AdaLoraConfig(init_r=4, target_r=2, total_step=4, tinit=0, tfinal=1, target_modules=["q_proj"], task_type="CAUSAL_LM"))


def compiled_in_place():
    model = cases.gpt2()
    layer = model.transformer.h[0]
    layer.forward = torch.compile(layer.forward, backend="eager")
    return on(model)


CASES = {
    a_hook_on_a_gradient: "changes the gradient of", a_hook_where_a_gradient_is_added: "is added up",
    a_backward_around_accelerates: "accelerator.backward", inputs_prepared_over_the_batch: "_prepare_inputs of its own",
    a_forward_around_the_librarys: "forward pass of transformer.h.0.mlp", a_forward_of_torchs_replaced: "forward pass of",
    a_function_of_the_models_replaced: "apply_rotary_pos_emb", a_loss_function_of_torchs_replaced: "cross_entropy",
    a_loss_around_the_librarys: "not known to be a mean", a_loss_of_the_class_replaced: "compute_loss",
    another_label_that_does_not_count: "ignore_index", attention_of_its_own: "centred", gradients_by_frequency: "scale_grad_by_freq",
    ranks_dropped: "draws random numbers of shape", frequencies_that_depend_on_the_longest: "inv_freq",
    entries_of_text: "nobody knows how to cut", smoothed_labels: "label smoothing", reentrant_checkpoints: "reentrant",
    ranks_that_are_chosen: "auxiliary loss", compiled_in_place: "compiled"}
