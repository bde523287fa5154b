# SPDX-License-Identifier: Apache-2.0
"""Training jobs as people write them, with Hugging Face's Trainer: models so small that a step takes no time."""
import os

import torch
from transformers import (GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, LlamaForSequenceClassification,
                          LlamaForTokenClassification, ModernBertConfig, ModernBertForMaskedLM, Trainer, TrainerCallback,
                          TrainingArguments)

ROWS, LENGTH, VOCABULARY = 8, 16, 128


def gpt2(dropout=0.0, **more):
    # Eager attention: its dropout is an operation of its own.
    return GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=2, n_embd=32, vocab_size=VOCABULARY, n_positions=64, bos_token_id=0,
                                      eos_token_id=0, resid_pdrop=dropout, embd_pdrop=dropout, attn_pdrop=dropout,
                                      **{"attn_implementation": "eager", **more}))


def llama_with_adapter():
    from peft import LoraConfig, get_peft_model
    return get_peft_model(llama(), LoraConfig(r=4, target_modules=["q_proj", "v_proj"], lora_dropout=0.1,
                                              init_lora_weights=False, task_type="CAUSAL_LM"))


def masked_bert():
    return ModernBertForMaskedLM(ModernBertConfig(vocab_size=VOCABULARY, hidden_size=32, intermediate_size=32, num_hidden_layers=2,
                                                  num_attention_heads=2, attention_dropout=0.1, mlp_dropout=0.1, pad_token_id=0,
                                                  cls_token_id=1, sep_token_id=2, attn_implementation="eager"))


def llama(kind=LlamaForCausalLM, **more):
    return kind(LlamaConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                            num_key_value_heads=2, vocab_size=VOCABULARY, attn_implementation="eager", pad_token_id=0,
                            attention_dropout=0.1, **more))


def token_classifier():
    return llama(LlamaForTokenClassification, num_labels=VOCABULARY)


def classifier():
    return llama(LlamaForSequenceClassification, num_labels=3)


def regressor():
    return llama(LlamaForSequenceClassification, num_labels=1)


def rows(count, uneven=False, length=LENGTH, vocabulary=VOCABULARY):
    generator = torch.Generator().manual_seed(1)
    made = []
    for number in range(count):
        tokens = torch.randint(0, vocabulary, (length,), generator=generator)
        labels = tokens.clone()
        if uneven:
            labels[:(number * 5) % (length - 1)] = -100
        made.append({"input_ids": tokens, "labels": labels})
    return made


def labelled_rows(count, kind):
    """One label for each row: a class (int) or a number (float). Every third class is not to count."""
    made = rows(count)
    for number, row in enumerate(made):
        row["labels"] = -100 if kind is int and number % 3 == 0 else kind(number % 5 % 3)
    return made


class Gradients(TrainerCallback):
    """What the optimizer's first step is given."""

    def on_pre_optimizer_step(self, args, state, control, model=None, **_):
        if not hasattr(self, "found"):
            self.found = {name: one.grad.detach().cpu().clone() for name, one in model.named_parameters() if one.grad is not None}


def make_trainer(model, data, trainer_class=Trainer, steps=1, **arguments):
    given = {"output_dir": os.environ["TEST_FOLDER"], "per_device_train_batch_size": ROWS, "max_steps": steps, "report_to": [],
             "save_strategy": "no", "seed": 3, "dataloader_pin_memory": False, "disable_tqdm": True, "logging_steps": 1000,
             "max_grad_norm": 0, "remove_unused_columns": False, **arguments}
    gradients = Gradients()
    trainer = trainer_class(model=model, args=TrainingArguments(**given), train_dataset=data, callbacks=[gradients])
    return trainer, gradients
