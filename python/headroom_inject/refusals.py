# SPDX-License-Identifier: Apache-2.0
"""Which steps of a Hugging Face Trainer, and which calls of a model, are not redone in parts, and why: their gradients would not be
those of the whole batch, or nobody has shown that they would. All of it is read from the objects as they are; nothing is computed."""
import sys

import torch

from headroom_inject.not_kept import NotKept
from headroom_inject.written_in import is_foreign

_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts", "num_moe_experts")
_ATTENTION_DROPOUT = ("attn_pdrop", "attention_dropout", "attention_probs_dropout_prob", "attention_dropout_prob")


def _expect(is_so, reason):
    if not is_so:
        raise NotKept(reason)


# What a Trainer's training_step calls on it besides; each would see parts of a batch.
_BESIDE_LOSS = ("_prepare_inputs", "_prepare_input", "compute_loss_context_manager", "autocast_smart_context_manager",
                "_prepare_context_parallel_inputs")


def _check_trainer(trainer):
    _expect(not is_foreign(trainer.compute_loss),
            f"{type(trainer).__name__} computes its loss itself (compute_loss), in a way that is unknown")
    for name in _BESIDE_LOSS:
        _expect(not is_foreign(getattr(trainer, name, None)), f"{type(trainer).__name__} has a {name} of its own, which would see parts of a batch")
    backward = trainer.accelerator.backward
    _expect("backward" not in vars(trainer.accelerator) and not is_foreign(backward),
            "accelerator.backward is the script's own, which would be called for parts of a batch")
    _expect(getattr(trainer, "compute_loss_func", None) is None, "the loss is the script's own (compute_loss_func)")
    _expect(getattr(trainer, "label_smoother", None) is None, "label smoothing (label_smoothing_factor) has a loss of its own")
    args = trainer.args
    _expect(not getattr(args, "torch_compile", False), "a compiled model (torch_compile) draws random numbers out of sight")
    _expect("lomo" not in str(args.optim).lower(), f"the optimizer {args.optim} steps during the backward pass")
    _expect(getattr(trainer, "_past", None) is None, "the model's past is carried from step to step (past_index)")


def _check_processes(trainer):
    accelerator = trainer.accelerator
    kind = getattr(accelerator.distributed_type, "value", str(accelerator.distributed_type))
    names = {"DEEPSPEED": "DeepSpeed", "FSDP": "FSDP", "MULTI_GPU": "DistributedDataParallel"}
    _expect(kind == "NO", f"{names.get(kind, kind)} computes with several processes or a backward pass of its own")
    _expect(trainer.args.n_gpu <= 1, "DataParallel cuts the batch by itself")
    _expect(getattr(accelerator, "parallelism_config", None) is None, "the model is computed in parallel (parallelism_config)")
    _expect(str(accelerator.mixed_precision) != "fp8", "fp8 keeps scales of the whole batch")


def _check_modules(model):
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm) and (module.training or module.running_mean is None):
            raise NotKept(f"BatchNorm ({name}) takes its mean over the whole batch")
        if getattr(module, "scale_grad_by_freq", False):
            raise NotKept(f"{name} scales gradients by how often a token is in the whole batch (scale_grad_by_freq)")
        if any(one.__name__ == "Linear8bitLt" for one in type(module).__mro__):
            raise NotKept(f"{name} chooses by the whole batch which columns are computed in 8 bits")
        if "torch._dynamo" in type(module).__module__:
            raise NotKept("a compiled model (torch.compile) draws random numbers out of sight")
        checkpoint = getattr(module, "_gradient_checkpointing_func", None)
        if checkpoint is not None and getattr(checkpoint, "keywords", {}).get("use_reentrant", True) \
                and getattr(module, "gradient_checkpointing", False):
            raise NotKept("reentrant checkpointing may add a gradient in several portions; "
                          'gradient_checkpointing_kwargs={"use_reentrant": False} has it added once')


def _has_node_hooks(parameter):
    """Whether the node that adds up a parameter's gradient has hooks of a program's (torch.autograd.graph.Node.register_hook). PyTorch lists
    none, but it puts a new one into the dict that holds the others."""
    if not parameter.requires_grad or not parameter.is_leaf:
        return False
    node = torch.autograd.graph.get_gradient_edge(parameter).node
    for register in (node.register_hook, node.register_prehook):
        handle = register(lambda *_: None)
        hooks = handle.hooks_dict_ref()
        others = len(hooks) - 1 if hooks is not None else 0
        handle.remove()
        if others > 0:
            return True
    return False


def _check_parameters(model):
    devices = {parameter.device for parameter in model.parameters()}
    _expect(len(devices) == 1, "the model lies on several devices")
    for name, parameter in model.named_parameters():
        _expect(not getattr(parameter, "_post_accumulate_grad_hooks", None),
                f"a hook takes the gradient of {name} as soon as it is there (an optimizer in the backward pass?)")
        _expect(not parameter._backward_hooks, f"a hook changes the gradient of {name}")
        _expect(not _has_node_hooks(parameter), f"a hook is called when the gradient of {name} is added up")
        _expect(type(parameter.data) is torch.Tensor, f"{name} is a {type(parameter.data).__name__}, not a plain tensor")


def _check_config(model):
    config = model.config
    config = config.get_text_config() if hasattr(config, "get_text_config") else config
    has_experts = any((getattr(config, name, 0) or 0) > 1 for name in _EXPERTS)
    balanced = getattr(config, "output_router_logits", None) is not False or getattr(config, "expert_capacity", None)
    _expect(not (has_experts and balanced), "a mixture of experts has an auxiliary loss over the whole batch")
    implementation = getattr(config, "_attn_implementation", None) or "eager"
    for name in _ATTENTION_DROPOUT:
        _expect(not getattr(config, name, 0) or implementation == "eager",
                f"{name} is drawn inside the kernel of {implementation}, so that the masks of a part are not those of the "
                'whole; attn_implementation="eager" or no such dropout keeps them')


def _check_adapter(model):
    adapters = getattr(model, "peft_config", None)
    for adapter in (adapters.values() if isinstance(adapters, dict) else ()):
        _expect(not getattr(adapter, "is_prompt_learning", False), "an adapter puts tokens of its own before the batch's")


def _is_harmless(hook):
    """transformers' own (for adapters over checkpoints, NEFTune, what models put out), and torch.nn.utils.weight_norm's."""
    if type(hook).__name__ == "WeightNorm":
        return type(hook).__module__ == "torch.nn.utils.weight_norm"
    return (getattr(hook, "__module__", None) or "").startswith("transformers.") and not is_foreign(hook)


def _check_hooks(model):
    _expect(not torch.nn.modules.module._has_any_global_hook(), "a hook of all modules sees parts of a batch")
    for name, module in model.named_modules():
        for kind in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"):
            for hook in getattr(module, kind, {}).values():
                _expect(_is_harmless(hook), f"a hook of {name or type(module).__name__} sees parts of a batch")


def _check_wrappers(model):
    for name, module in model.named_modules():
        kinds = {one.__name__ for one in type(module).__mro__}
        for kind in ("DataParallel", "FullyShardedDataParallel", "FSDPModule", "DeepSpeedEngine", "PipelineModule"):
            _expect(kind not in kinds, f"{kind} cuts the batch or the model by itself")
        _expect(getattr(module, "_compiled_call_impl", None) is None, "a compiled model (torch.compile) draws random numbers out of sight")
    if "torch._dynamo" in str(type(model).__module__):
        raise NotKept("a compiled model (torch.compile) draws random numbers out of sight")


def _check_caller():
    """torch.func.functional_call puts other tensors in the place of the model's for as long as the call lasts."""
    frame = sys._getframe(1)
    while frame is not None:
        _expect(frame.f_code.co_name not in ("functional_call", "_functional_call"), "functional_call gives it other parameters than its own")
        frame = frame.f_back


def check_call(model):
    """Raises NotKept with the first reason found why a call of this model must not be made by rows."""
    _check_caller()
    _check_wrappers(model)
    _check_modules(model)
    _check_parameters(model)
    _check_hooks(model)
    _check_adapter(model)
    if getattr(innermost(model), "config", None) is not None:
        _check_config(innermost(model))


def innermost(model):
    """The model below an adapter, if there is one."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def check_trainer(trainer, model):
    """Raises NotKept with the first reason found. `model`: as the script made it, without what accelerate put around it."""
    _check_trainer(trainer)
    _check_processes(trainer)
    _check_wrappers(model)
    _check_modules(model)
    _check_parameters(model)
    _check_hooks(model)
    _check_adapter(model)
    _check_config(innermost(model))
