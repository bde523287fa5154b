# SPDX-License-Identifier: Apache-2.0
"""What a Trainer's step is not split for: the error is the one that came, its gradients and its random state are untouched, and
one line names the reason.

    split_refusals.py     prints the reasons
"""
import contextlib
import io
import sys
import types

import headroom_inject

headroom_inject.arrange()  # As sitecustomize does.

import numpy  # noqa: E402
import torch  # noqa: E402
from accelerate.utils import DistributedType  # noqa: E402
from transformers import BertConfig, BertForMaskedLM, MixtralConfig, MixtralForCausalLM, Trainer  # noqa: E402

import failing  # noqa: E402
import on_cpu  # noqa: E402
import split_cases as cases  # noqa: E402


class LossOfItsOwn(Trainer):
    def compute_loss(self, model, inputs, *args, **kwargs):
        return super().compute_loss(model, inputs, *args, **kwargs)


class ModelOfItsOwn(cases.GPT2LMHeadModel):
    pass


def with_a_loss_beside():
    model = cases.gpt2()

    def add(_module, _inputs, output):
        output.loss = output.loss + 0.01 * output.logits.square().mean()
        return output

    model.register_forward_hook(passing_for_known(add))
    return model


def passing_for_known(hook):
    """So that what it does is seen, not that it is there."""
    made = types.FunctionType(hook.__code__, {**hook.__globals__, "__name__": "transformers.modeling_utils"}, None, None, hook.__closure__)
    made.__module__ = "transformers.modeling_utils"
    return made


def with_a_count():
    model = cases.gpt2()
    model.register_buffer("seen", torch.zeros(()))

    def count(*_):
        model.seen += 1

    model.register_forward_pre_hook(passing_for_known(count))
    return model


def with_a_hook():
    model = cases.gpt2()
    model.transformer.h[0].register_full_backward_hook(lambda _module, grads, _: tuple(one and one / one.norm() for one in grads))
    return model


def with_numbers_of_numpy():
    model = cases.gpt2()
    model.transformer.wte.register_forward_hook(passing_for_known(
        lambda _module, _inputs, found: found * float(numpy.random.rand(len(found)).sum())))
    return model


class OwnLayer(torch.nn.Linear):
    def forward(self, x):
        found = super().forward(x)
        if found.requires_grad:
            found.register_hook(lambda grad: grad / grad.norm())
        return found


def with_a_layer_of_its_own():
    model = cases.gpt2()
    model.lm_head = OwnLayer(model.config.n_embd, model.config.vocab_size, bias=False)
    return model


def with_another_forward():
    model = cases.gpt2()
    layer = model.transformer.h[0].mlp
    before = layer.forward
    layer.forward = lambda x: before(x) / x.norm()
    return model


def with_batch_norm():
    model = cases.gpt2()
    model.transformer.h[0].mlp.norm = torch.nn.BatchNorm1d(4)
    return model


def with_experts():
    return MixtralForCausalLM(MixtralConfig(vocab_size=cases.VOCABULARY, hidden_size=16, intermediate_size=16, num_hidden_layers=1,
                                            num_attention_heads=2, num_key_value_heads=2, num_local_experts=2,
                                            output_router_logits=True, attn_implementation="eager"))


def with_fused_dropout():
    return cases.gpt2(0.1, attn_implementation="sdpa")


def with_its_own_loss():
    return BertForMaskedLM(BertConfig(vocab_size=cases.VOCABULARY, hidden_size=16, intermediate_size=16, num_hidden_layers=1,
                                      num_attention_heads=2, attn_implementation="eager"))


def stepping_in_backward():
    model = cases.gpt2()
    model.lm_head.weight.register_post_accumulate_grad_hook(lambda parameter: None)
    return model


def of_its_own():
    return ModelOfItsOwn(cases.gpt2().config)


REENTRANT = {"gradient_checkpointing": True, "gradient_checkpointing_kwargs": {"use_reentrant": True}}
# The model, the words that the reason has, and what else is different.
CASES = [
    (with_batch_norm, "BatchNorm", {}),
    (with_experts, "mixture of experts", {}),
    (with_fused_dropout, "drawn inside the kernel of sdpa", {}),
    (stepping_in_backward, "optimizer in the backward pass", {}),
    (cases.gpt2, "compute_loss", {"trainer_class": LossOfItsOwn}),
    (of_its_own, "loss of ModelOfItsOwn is unknown", {}),
    (with_a_loss_beside, "auxiliary loss", {}),
    (with_a_count, "changes seen", {}),
    (with_numbers_of_numpy, "by NumPy", {}),
    (with_a_hook, "a hook of transformer.h.0", {}),
    (with_a_layer_of_its_own, "forward pass of lm_head", {}),
    (with_another_forward, "forward pass of transformer.h.0.mlp", {}),
    (with_its_own_loss, "BertForMaskedLM computes its loss itself", {}),
    (cases.gpt2, "label smoothing", {"label_smoothing_factor": 0.1}),
    (cases.gpt2, "reentrant", REENTRANT),
    (cases.gpt2, "one row", {"per_device_train_batch_size": 1}),
    (cases.gpt2, "FSDP", {"distributed": "FSDP"}),
    (cases.gpt2, "DeepSpeed", {"distributed": "DEEPSPEED"}),
    (cases.gpt2, "DistributedDataParallel", {"distributed": "MULTI_GPU"}),
]


def refuse(make_model, words, arguments):
    torch.manual_seed(0)
    distributed = arguments.pop("distributed", "NO")
    trainer, _ = cases.make_trainer(make_model(), cases.rows(8), **arguments)
    step, seen = trainer.training_step, {}

    def watched(*args):
        state = trainer.accelerator.state
        with failing.at_allocation(25):
            state.distributed_type = DistributedType(distributed)
            try:
                return step(*args)
            finally:
                state.distributed_type = DistributedType.NO
                seen["gradients"] = [name for name, one in trainer.model.named_parameters() if one.grad is not None]
                seen["frozen"] = [name for name, one in trainer.model.named_parameters() if not one.requires_grad]

    trainer.training_step = watched
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            trainer.train()
            raise AssertionError(f"{words}: the step went through")
        except torch.OutOfMemoryError as error:
            assert "by headroom's allocator" in str(error)
    lines = [line for line in said.getvalue().splitlines() if line.startswith("headroom: ")]
    assert len(lines) == 1 and words in lines[0], (words, lines)
    assert not seen["gradients"] and not seen["frozen"], seen
    print(lines[0])


on_cpu.install()
for case in CASES if len(sys.argv) == 1 else [CASES[int(sys.argv[1])]]:
    refuse(*case)
